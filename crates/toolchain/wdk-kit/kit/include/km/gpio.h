/* General-purpose I/O, for drivers that use pins: from Microsoft's documentation of gpio.h, with the codes of MinGW-w64's gpio.h. */
#pragma once

#define IOCTL_GPIO_READ_PINS 0x00480000
#define IOCTL_GPIO_WRITE_PINS 0x00480004
#define IOCTL_GPIO_CONTROLLER_SPECIFIC_FUNCTION 0x00480008
