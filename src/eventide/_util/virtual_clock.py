"""The counter with which a device in virtual time records where its host's clock is; reading uses and removes it."""

COUNTER = "eventide: virtual clock of "
