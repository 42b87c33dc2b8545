"""How cells are coded in dense blocks: 0, 1, or `UNOBSERVED`."""

import numpy as np

UNOBSERVED = np.uint8(2)
