/* The part of usb.h and usbspec.h that the metadata lacks. */
#pragma once

#define USB_ENDPOINT_DIRECTION_OUT(Address) (((Address) & 0x80) == 0)
#define USB_ENDPOINT_DIRECTION_IN(Address) (((Address) & 0x80) != 0)
