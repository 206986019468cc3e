package backend

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// shows checks a conversion: every change of the input changes the JSON of the output, except
// the named fields. A slice has the field #, its length.
func shows[From, To any](t *testing.T, convert func(From) To, but ...string) {
	t.Helper()
	var from From
	told := func() string {
		b, err := json.Marshal(convert(from))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	hidden := map[string]bool{}
	for _, path := range but {
		hidden[path] = false
	}
	w := fieldWalker{leaf: func(path string, change, back func()) {
		before := told()
		change()
		after := told()
		back()
		_, hides := hidden[path]
		if hides {
			hidden[path] = true
		}
		if (before == after) != hides {
			t.Errorf("%T: a change of %s shows: %v, hidden on purpose: %v", from, path, before != after, hides)
		}
	}}
	w.walk("", reflect.ValueOf(&from).Elem(), func() {})
	for _, path := range slices.Sorted(maps.Keys(hidden)) {
		if !hidden[path] {
			t.Errorf("%T has no %s", from, path)
		}
	}
}

// fieldWalker visits everything that can be changed in a value.
type fieldWalker struct {
	leaf func(path string, change, back func())
}

// walk fills a value and everything below it. set stores the filled value.
func (w fieldWalker) walk(path string, v reflect.Value, set func()) {
	at := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	one := func(path string, to any) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		w.leaf(path, func() { v.Set(reflect.ValueOf(to).Convert(v.Type())); set() }, func() { v.Set(old); set() })
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		one(path, time.Date(2025, 3, 6, 10, 0, 0, 0, time.UTC))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(at(v.Type().Field(i).Name), v.Field(i), set)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set()
		w.walk(path, v.Elem(), set)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set()
		one(at("#"), reflect.MakeSlice(v.Type(), 2, 2).Interface())
		w.walk(path, v.Index(0), set)
	case reflect.Map:
		elem, key := reflect.New(v.Type().Elem()).Elem(), reflect.New(v.Type().Key()).Elem()
		if key.Kind() == reflect.String {
			key.SetString("key")
		} else {
			key.SetUint(1)
		}
		v.Set(reflect.MakeMap(v.Type()))
		put := func() { v.SetMapIndex(key, elem); set() }
		put()
		w.walk(path, elem, put)
	case reflect.Array: // an ID or a path
		one(path, func() any {
			to := reflect.New(v.Type()).Elem()
			to.Index(0).SetUint(7)
			return to.Interface()
		}())
	case reflect.Bool:
		one(path, true)
	case reflect.String:
		one(path, "text")
	case reflect.Float64, reflect.Float32:
		one(path, 0.5)
	case reflect.Uint8: // one of a few known values
		one(path, 1)
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32:
		one(path, 7_000_000) // 7 ms as a duration
	default:
		panic(fmt.Sprintf("%s is a %s", path, v.Kind()))
	}
}

// Conversions lose no field, except private ones.
func TestConversionsShowAll(t *testing.T) {
	none := percached.PublicIDs{}
	shows(t, func(a answer.Answer) api.Answer { return wireAnswer(none, a) }, "Loaded", "Loaded.#", "Made", "Made.#", "Written")
	shows(t, func(r answer.Record) api.Record { return wireRecord(none, r) }, "Number")
	shows(t, func(d percached.Document) api.Document { return wireDocument(none, d) }, "Chunks")
	shows(t, func(c percached.Chunk) api.ChunkText { return wireChunk(none, c) }, "Version", "Documents", "Documents.#")
	shows(t, wireReceipt)
	shows(t, func(e qabank.Entry) api.Entry { return wireEntry(none, e) }, "Space", "Vector", "Vector.#", "Embedder", "Sources", "Sources.#", "Seen", "Settings", "Vetoed", "Vetoed.#")
	shows(t, func(e qabank.Entry) any { return wireExported(e) },
		"Changed", "ID", "Space", "Answered", "Vector", "Vector.#", "Embedder", "Evidence.Version", "Seen", "Used", "Stale", "StaleWhy", "Vetoed", "Vetoed.#")
	shows(t, wireCache, "Promoted", "Packed", "Forms.Nodes", "Forms.Bytes", "Slack", "Dropped", "Expired", "Moved", "Flushes", "Hot", "HotLimit", "HotBytes")
	shows(t, func(i qkvtree.Info) api.Slice { return wireSlice(none, i) }, "Priority")
	shows(t, wireVerified)
	shows(t, func(p predictor.Prediction) any { return wirePrediction(none, p, "") }, "Asked", "Asked.#")
	shows(t, wirePredictionStats)
	shows(t, wireJob)
	shows(t, wireAccount)
	shows(t, WireDrained)
	shows(t, func(st scheduler.Status) any { return wireIdle(st, nil) }, parkedFields()...)
	shows(t, func(m telemetry.State) api.Status { return wireStatus(time.Time{}, api.StatusQuestions{}, m) }, "Listeners", "Disk.Limit", "Hot.Bytes", "Hot.Limit", "BackupLag", "BackupFailures")
	shows(t, func(q api.StatusQuestions) api.Status { return wireStatus(time.Time{}, q, telemetry.State{}) })
	shows(t, wireUpload, "Key", "Report.Notes", "Dropped")
}

// parkedFields are the fields of jobs that are only counted.
func parkedFields() (paths []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[scheduler.Job]()) {
		paths = append(paths, "Parked."+f.Name)
	}
	return paths
}
