package remotebackup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/percached/percached/internal/base/fault"
)

const (
	format      = 1
	archiveEnd  = ".archive"
	manifestEnd = ".json"
	timeFormat  = "20060102T150405.000Z"
	// maxManifest is the largest manifest that is read.
	maxManifest = 1 << 20
	// abandoned is the age of an upload without a manifest that nobody continues.
	abandoned = 24 * time.Hour
)

var (
	chainName = regexp.MustCompile(`^(\d{8}T\d{6}\.\d{3}Z)-[0-9a-f]{8}$`)
	fileName  = regexp.MustCompile(`^(\d{6})-(\d{8}T\d{6}\.\d{3}Z)(\.archive|\.json)$`)
)

// ours says whether a backup has an object of this name.
func ours(name string) bool {
	folder, file := path.Split(name)
	return chainName.MatchString(strings.TrimSuffix(folder, "/")) && fileName.MatchString(file)
}

// Begun is when a chain began, by its name; zero: it says nothing.
func Begun(chain string) (at time.Time) {
	if of := chainName.FindStringSubmatch(chain); of != nil {
		at, _ = time.Parse(timeFormat, of[1])
	}
	return at
}

// Manifest describes a complete archive.
type Manifest struct {
	Format    int       `json:"format"`
	Chain     string    `json:"chain"`
	Number    int       `json:"number"` // 0: a whole archive
	Made      time.Time `json:"made"`
	Archive   string    `json:"archive"`
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"`
	Previous  string    `json:"previous,omitempty"` // SHA256 of the archive before
	Percached string    `json:"percached"`
	Spaces    int       `json:"spaces"`
	Documents int       `json:"documents"`
	Uploads   int       `json:"uploads"`
}

// Point is a moment that can be restored.
type Point struct {
	Chain  string
	Number int
	Made   time.Time
	Bytes  int64 // of its archive
}

func (p Point) base() string {
	return fmt.Sprintf("%s/%06d-%s", p.Chain, p.Number, p.Made.UTC().Format(timeFormat))
}

// NewChain names a chain whose first archive is made at a time.
func NewChain(made time.Time) string {
	b := make([]byte, 4)
	rand.Read(b)
	return made.UTC().Format(timeFormat) + "-" + hex.EncodeToString(b)
}

// Write stores an archive, then its manifest. It fills in the size and the checksum. archive must
// end when its writer returns an error.
func (s *Store) Write(ctx context.Context, m Manifest, archive func(io.Writer) error) (Manifest, error) {
	m.Format, m.Made = format, m.Made.UTC()
	base := Point{Chain: m.Chain, Number: m.Number, Made: m.Made}.base()
	m.Archive = base + archiveEnd
	from, to := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		to.CloseWithError(archive(to))
	}()
	var err error
	m.Size, m.SHA256, err = s.put(ctx, m.Archive, from)
	from.CloseWithError(io.ErrClosedPipe) // ends archive
	<-ended
	if err != nil {
		return m, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, fault.New(fault.Internal, "remotebackup.Write", "%w", err)
	}
	_, _, err = s.put(ctx, base+manifestEnd, bytes.NewReader(append(text, '\n')))
	return m, err
}

// chain is what is stored of one chain.
type chain struct {
	name    string
	begun   time.Time
	objects []string
	points  []Point // that have a manifest, in order
}

// whole says whether a chain has its whole archive.
func (c *chain) whole() bool { return len(c.points) > 0 && c.points[0].Number == 0 }

// chains returns what is stored, the oldest chain first.
func (s *Store) chains(ctx context.Context) ([]*chain, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]*chain{}
	sizes := map[string]int64{}
	for _, o := range all {
		folder, file := path.Split(o.name)
		folder = strings.TrimSuffix(folder, "/")
		is := fileName.FindStringSubmatch(file)
		begun := Begun(folder)
		made, wrong := time.Parse(timeFormat, is[2])
		if begun.IsZero() || wrong != nil {
			continue
		}
		c := byName[folder]
		if c == nil {
			c = &chain{name: folder, begun: begun}
			byName[folder] = c
		}
		c.objects = append(c.objects, o.name)
		sizes[o.name] = o.size
		if is[3] == manifestEnd {
			n, _ := strconv.Atoi(is[1]) // digits
			c.points = append(c.points, Point{Chain: folder, Number: n, Made: made})
		}
	}
	var found []*chain
	for _, c := range byName {
		for i := range c.points {
			c.points[i].Bytes = sizes[c.points[i].base()+archiveEnd]
		}
		slices.SortFunc(c.points, func(a, b Point) int { return cmp.Or(a.Number-b.Number, a.Made.Compare(b.Made)) })
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *chain) int { return cmp.Or(a.begun.Compare(b.begun), cmp.Compare(a.name, b.name)) })
	return found, nil
}

// Chains returns the names of all chains, also of those without a manifest, the oldest first. It
// costs one request.
func (s *Store) Chains(ctx context.Context) (names []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing after an error
	root := s.place.object("")
	for o := range s.client.ListObjects(ctx, s.place.Bucket, minio.ListObjectsOptions{Prefix: root}) {
		if o.Err != nil {
			return nil, s.failed("list", o.Err)
		}
		if name := strings.TrimSuffix(strings.TrimPrefix(o.Key, root), "/"); chainName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names) // they begin with their times
	return names, ctx.Err()
}

// Points returns the moments that can be restored, the oldest first. Those of a chain are in the
// order of their numbers, also where the clock went back.
func (s *Store) Points(ctx context.Context) (all []Point, err error) {
	chains, err := s.chains(ctx)
	if err != nil {
		return nil, err
	}
	latest := map[Point]time.Time{} // of this one and those before it in its chain
	for _, c := range chains {
		next := 0
		var newest time.Time
		for _, p := range c.points {
			if p.Number > next { // an archive is missing
				break
			}
			if p.Made.After(newest) {
				newest = p.Made
			}
			all, latest[p] = append(all, p), newest
			next = p.Number + 1
		}
	}
	slices.SortStableFunc(all, func(a, b Point) int { return latest[a].Compare(latest[b]) })
	return all, nil
}

// PointAt returns the newest of some points that is not after a time; the zero time means the newest.
func (s *Store) PointAt(points []Point, at time.Time) (Point, error) {
	const op = "remotebackup.PointAt"
	if len(points) == 0 {
		return Point{}, fault.New(fault.NotFound, op, "there is no backup in %s", s.place)
	}
	if at.IsZero() {
		return points[len(points)-1], nil
	}
	for _, p := range slices.Backward(points) {
		if !p.Made.After(at) {
			return p, nil
		}
	}
	return Point{}, fault.New(fault.NotFound, op, "the oldest backup in %s is of %s", s.place, points[0].Made.Local().Format(time.DateTime))
}

// Archives returns the manifests of the archives that a point needs, in the order to apply them.
func (s *Store) Archives(ctx context.Context, points []Point, at Point) ([]Manifest, error) {
	m, err := s.manifest(ctx, at)
	if err != nil {
		return nil, err
	}
	all := []Manifest{m}
	for m.Number > 0 {
		found := false
		for _, p := range points {
			if p.Chain != m.Chain || p.Number != m.Number-1 {
				continue
			}
			before, err := s.manifest(ctx, p)
			if err != nil {
				return nil, err
			}
			if found = before.SHA256 == m.Previous; found {
				m = before
				break
			}
		}
		if !found {
			return nil, damaged("the archive before %s is missing", m.Archive)
		}
		all = append(all, m)
	}
	slices.Reverse(all)
	return all, nil
}

func (s *Store) manifest(ctx context.Context, p Point) (m Manifest, err error) {
	name := p.base() + manifestEnd
	from, err := s.get(ctx, name)
	if err != nil {
		return m, err
	}
	defer from.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(from, maxManifest))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged("%s is not a manifest", name)
	}
	if m.Format > format {
		return m, fault.New(fault.Unsupported, "remotebackup.manifest", "a newer percached made the backup (format %d; this percached reads %d); use a newer percached", m.Format, format)
	}
	if m.Format < 1 || m.Chain != p.Chain || m.Number != p.Number || m.Archive != p.base()+archiveEnd || (m.Number == 0) != (m.Previous == "") {
		return m, damaged("%s contradicts its name", name)
	}
	return m, nil
}

func damaged(form string, args ...any) error {
	return fault.New(fault.Invalid, "remotebackup", "the backup is damaged: "+form, args...)
}

// Read reads an archive. At its end, before io.EOF, it compares size and checksum.
func (s *Store) Read(ctx context.Context, m Manifest) (io.ReadCloser, error) {
	from, err := s.get(ctx, m.Archive)
	if err != nil {
		return nil, err
	}
	return &verified{ReadCloser: from, manifest: m, sum: sha256.New()}, nil
}

type verified struct {
	io.ReadCloser
	manifest Manifest
	sum      hash.Hash
	n        int64
}

func (v *verified) Read(b []byte) (int, error) {
	n, err := v.ReadCloser.Read(b)
	v.sum.Write(b[:n])
	v.n += int64(n)
	if err == io.EOF && (v.n != v.manifest.Size || hex.EncodeToString(v.sum.Sum(nil)) != v.manifest.SHA256) {
		return 0, damaged("%s does not match its checksum", v.manifest.Archive)
	}
	return n, err
}

// Renewal is the age at which a chain is continued by a new one: a quarter of the time that backups
// are kept.
func Renewal(keep time.Duration) time.Duration { return keep / 4 }

// Prune deletes what nobody may restore any more, except the chain in use and the newest whole one.
// What was deleted from the data folder leaves the backups within keep: a chain lasts a quarter of
// it, and is kept for three quarters after the next one began. If keep is 0, Prune deletes only the
// remains of uploads that never ended. It says whether the whole archive of the chain in use is there.
func (s *Store) Prune(ctx context.Context, inUse string, keep time.Duration, now time.Time) (there bool, err error) {
	chains, err := s.chains(ctx)
	if err != nil {
		return false, err
	}
	there = slices.ContainsFunc(chains, func(c *chain) bool { return c.name == inUse && c.whole() })
	for i, c := range chains {
		if c.name == inUse {
			continue
		}
		var next *chain // the whole one that continued it
		if at := slices.IndexFunc(chains[i+1:], (*chain).whole); at >= 0 {
			next = chains[i+1+at]
		}
		switch {
		case c.whole() && (keep == 0 || next == nil || now.Sub(next.begun) < keep-Renewal(keep)):
			continue
		case !c.whole() && now.Sub(c.begun) < abandoned:
			continue // it may be on its way
		}
		// Without the manifest of its whole archive nobody sees it.
		slices.SortStableFunc(c.objects, func(a, b string) int { return cmp.Compare(removeOrder(a), removeOrder(b)) })
		if err := s.remove(ctx, c.objects...); err != nil {
			return there, err
		}
	}
	s.dropIncomplete(ctx, now.Add(-abandoned))
	return there, nil
}

// removeOrder is 0 for the manifest of a whole archive, which goes first.
func removeOrder(name string) int {
	if strings.HasPrefix(path.Base(name), "000000-") && strings.HasSuffix(name, manifestEnd) {
		return 0
	}
	return 1
}
