package api

import (
	"time"

	"github.com/percached/percached"
)

// Cache counts what the tree of tensors holds, and since the daemon began what
// happened to it.
type Cache struct {
	Limit     int64        `json:"limit"`
	Bytes     int64        `json:"bytes"`
	DiskBytes int64        `json:"disk_bytes"`
	Slices    int          `json:"slices"`
	Requests  uint64       `json:"requests"`
	Hits      uint64       `json:"hits"`   // slices lent
	Absent    uint64       `json:"absent"` // slices that were wanted and not stored
	Stored    uint64       `json:"stored"`
	Refused   uint64       `json:"refused"` // for which there was no room
	Evicted   uint64       `json:"evicted"`
	Damaged   uint64       `json:"damaged"`
	Written   int64        `json:"written_bytes"`
	Groups    []CacheGroup `json:"groups"`
}

// CacheGroup counts the slices that can stand in one prompt.
type CacheGroup struct {
	Space     string              `json:"space"`
	Model     string              `json:"model"`
	Placement percached.Placement `json:"placement"`
	Slices    int                 `json:"slices"`
	Bytes     int64               `json:"bytes"`
	Hits      uint64              `json:"hits"`
	Used      time.Time           `json:"used,omitzero"`
}

// SpaceCache counts what the tree holds of one space.
type SpaceCache struct {
	Bytes  int64        `json:"bytes"`
	Slices int          `json:"slices"`
	Hits   uint64       `json:"hits"`
	Limit  *int64       `json:"limit,omitempty"` // the space's own
	Groups []CacheGroup `json:"groups"`
}

// CacheLimit changes how many bytes the tensors may take.
type CacheLimit struct {
	Limit *int64 `json:"limit"`
}

// Slice is a stored slice.
type Slice struct {
	Space     string              `json:"space"`
	Model     string              `json:"model"`
	Placement percached.Placement `json:"placement"`
	Depth     int                 `json:"depth"`
	Chunk     *percached.ChunkID  `json:"chunk"` // null: the instructions
	Path      string              `json:"path"`
	Tokens    int                 `json:"tokens"`
	Bytes     int64               `json:"bytes"`
	Planes    percached.Planes    `json:"planes"`
	Hits      uint64              `json:"hits"`
	Used      time.Time           `json:"used,omitzero"`
}

// Tree lists the slices of a space, each before those behind it.
type Tree struct {
	Slices []Slice `json:"slices"`
	// More says that there are more than the limit.
	More bool `json:"more"`
}

// Dropped counts slices that went.
type Dropped struct {
	Slices int   `json:"slices"`
	Bytes  int64 `json:"bytes"`
}

// Verified is what reading every slice found.
type Verified struct {
	Slices  int   `json:"slices"`
	Bytes   int64 `json:"bytes"`
	Damaged int   `json:"damaged"`
	Stale   int   `json:"stale"`
	Clean   bool  `json:"clean"`
}
