package segment

import "encoding/binary"

// UUID divides by a UUID, by its first digits: into 16 segments for Depth 1, 256 for 2,
// 4,096 for 3 and 65,536 for 4. That is even for random UUIDs of version 4. The first digits
// of version 7 are the time: use [Even] for them.
type UUID struct {
	Depth int `json:"depth"` // 1 to 4
}

// Plan computes the segments, or returns a [ParameterError].
func (u UUID) Plan() (*Plan, error) {
	if u.Depth < 1 || u.Depth > 4 {
		return nil, refuse("UUID", "Depth", "it is %d and must be 1 to 4", u.Depth)
	}
	bits := 4 * u.Depth
	return boundaries(1<<bits-1, func(i int) Value {
		var id [16]byte
		binary.BigEndian.PutUint32(id[:], uint32(i+1)<<(32-bits))
		return ID(id)
	}), nil
}
