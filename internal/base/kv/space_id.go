package kv

import "crypto/sha256"

// SpaceID stands for a space in keys, so that all that belongs to it is a range
// of keys whatever its name is: the first half of SHA-256 of the name.
type SpaceID [16]byte

// NewSpaceID is what stands for the space of this name.
func NewSpaceID(name string) SpaceID {
	sum := sha256.Sum256([]byte(name))
	return SpaceID(sum[:16])
}
