package budget

const (
	// Reserve is disk space that percached leaves free.
	Reserve = 1 << 30
	// UsualTensors is the limit where the free space is unknown.
	UsualTensors = 1 << 30
	// MaxTensors bounds the limit that is chosen. To forget a document, percached writes the whole
	// store anew.
	MaxTensors = 16 << 30

	shareTensors = 4        // the store may take one in so many bytes; written anew, it takes two
	tensorStep   = 64 << 20 // of a limit
)

// Disk is the disk of a data folder.
type Disk struct {
	Free int64 // bytes that can still be written; negative: unknown
	Held int64 // bytes that the stored tensors take now
}

// Tensors is a limit of the stored tensors and where it comes from.
type Tensors struct {
	Limit int64
	Bound Bound
}

// ChooseTensors chooses the limit.
func ChooseTensors(d Disk) Tensors {
	if d.Free < 0 {
		return Tensors{UsualTensors, ByNothing}
	}
	room := d.Free + d.Held
	t := Tensors{MaxTensors, ByMaximum}
	if n := room / shareTensors; n < t.Limit {
		t = Tensors{n, ByDisk}
	}
	if n := room - Reserve; n < t.Limit {
		t = Tensors{max(0, n), ByReserve}
	}
	t.Limit -= t.Limit % tensorStep
	return t
}

// Why says in a sentence why the limit is what it is.
func (t Tensors) Why() string {
	switch t.Bound {
	case BySetting:
		return "set in the configuration"
	case ByDisk:
		return "a quarter of the disk space that is free or already used for this"
	case ByReserve:
		return "the rest of the disk space is kept free"
	case ByMaximum:
		return "the largest that is chosen"
	}
	return "the free disk space is unknown here"
}
