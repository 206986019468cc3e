package api

import (
	"time"

	"github.com/percached/percached"
)

// Cache counts the slices of the tensor tree, and the tree's events since the daemon started.
type Cache struct {
	Limit     int64        `json:"limit"`
	Bytes     int64        `json:"bytes"`
	DiskBytes int64        `json:"disk_bytes"`
	Slices    int          `json:"slices"`
	Requests  uint64       `json:"requests"`
	Hits      uint64       `json:"hits"`   // slices reused
	Absent    uint64       `json:"absent"` // slices that were looked up and missing
	Stored    uint64       `json:"stored"`
	Refused   uint64       `json:"refused"` // slices that did not fit
	Evicted   uint64       `json:"evicted"`
	Damaged   uint64       `json:"damaged"`
	Written   int64        `json:"written_bytes"`
	Groups    []CacheGroup `json:"groups"`
}

// CacheGroup counts the slices of one space, model and placement: those that one prompt can
// combine.
type CacheGroup struct {
	Space     string              `json:"space"`
	Model     string              `json:"model"`
	Placement percached.Placement `json:"placement"`
	Slices    int                 `json:"slices"`
	Bytes     int64               `json:"bytes"`
	Hits      uint64              `json:"hits"`
	Used      time.Time           `json:"used,omitzero"`
}

// SpaceCache counts the slices of one space.
type SpaceCache struct {
	Bytes  int64        `json:"bytes"`
	Slices int          `json:"slices"`
	Hits   uint64       `json:"hits"`
	Limit  *int64       `json:"limit,omitempty"` // set for this space
	Groups []CacheGroup `json:"groups"`
}

// CacheLimit sets the storage limit of tensors, in bytes.
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
	Form      string              `json:"form,omitempty"` // of packed tensors
	Hits      uint64              `json:"hits"`
	Used      time.Time           `json:"used,omitzero"`
}

// Tree lists the slices of a space, each parent before its children.
type Tree struct {
	Slices []Slice `json:"slices"`
	// More says that there are more slices. Next is the cursor of the next page.
	More bool   `json:"more"`
	Next string `json:"next,omitempty"`
}

// Dropped counts deleted slices.
type Dropped struct {
	Slices int   `json:"slices"`
	Bytes  int64 `json:"bytes"`
}

// Verified is the result of reading and checking every slice.
type Verified struct {
	Slices  int   `json:"slices"`
	Bytes   int64 `json:"bytes"`
	Damaged int   `json:"damaged"`
	Stale   int   `json:"stale"`
	Clean   bool  `json:"clean"`
}
