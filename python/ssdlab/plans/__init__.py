"""Plans that teams make: a fleet over years, several tenants on one drive, a scheme of protection.

Each is a loop over `under_load`, the function that all decisions share: `growth` over years and
drives, `tenants` over the loads on one drive, `schemes` over redundancies of an array.
"""
