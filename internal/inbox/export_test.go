package inbox

import "fmt"

// OpenOn opens a folder and asks step before each change of it.
func OpenOn(dir string, o Options, step func(what, name string) error) (*Inbox, error) {
	return open(&disk{dir: dir, step: step}, o)
}

// Spooled is how many bytes count as spooled.
func Spooled(in *Inbox) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.bytes
}

// Sealed is a record of a version, with the checksum right.
func Sealed(version int, body string) []byte {
	return append(fmt.Appendf(nil, "upload %d %08x\n", version, sum(version, []byte(body))), body...)
}

// Peaks are the most bytes that were in flight, of each share of the memory, beside
// its size.
func Peaks(in *Inbox) (all [][2]int64) {
	for _, s := range []*share{in.memory.documents, in.memory.bodies, in.memory.smallBodies} {
		s.mu.Lock()
		all = append(all, [2]int64{s.peak, s.size})
		s.mu.Unlock()
	}
	return all
}

// Held are the bytes in flight.
func Held(in *Inbox) (n int64) {
	for _, s := range []*share{in.memory.documents, in.memory.bodies, in.memory.smallBodies} {
		s.mu.Lock()
		n += s.held
		s.mu.Unlock()
	}
	return n
}

// MaxWaiting bodies wait for memory.
const MaxWaiting = maxWaiting
