"""The parameters of a disk image of gem5 that takes the time of a simulated SSD."""

from m5.objects.DiskImage import DiskImage
from m5.params import Param


class SsdDisk(DiskImage):
    """An image with the data of another and the time of a drive."""

    type = "SsdDisk"
    cxx_header = "dev/storage/ssd/ssd_disk.hh"
    cxx_class = "gem5::SsdDisk"

    child = Param.DiskImage("image with the data")
    device = Param.String("samsung-pm9a3", "preset of ssdlab, or the path of an experiment")
    settings = Param.String("", "KEY=VALUE of the drive, separated by semicolons")
    image_file = ""
