package llamacpp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

func TestPlace(t *testing.T) {
	f, err := gguf.Open(randomModel(t, tiny)) // 4 layers
	if err != nil {
		t.Fatal(err)
	}
	const kv, scratch = 4 << 20, 1 << 20
	sizes := layerSizes(f, kv)
	var sum, all int64
	_, own := f.Tensor("output.weight")
	for _, tensor := range f.Tensors() {
		if tensor.Name != "token_embd.weight" || !own { // without a table of its own, the output takes a copy
			all += tensor.Size
		}
	}
	for _, s := range sizes {
		sum += s
	}
	if len(sizes) != 5 || sum != all+kv {
		t.Fatalf("%d sizes of %d bytes in all, the file has %d", len(sizes), sum, all+kv)
	}
	card := func(room int64) gpu { return gpu{name: "card", computes: true, room: room + gpuReserve} }
	three := scratch + sizes[0] + sizes[1] + sizes[2]
	within := card(three)
	within.shared = true
	for _, tc := range []struct {
		name   string
		wanted int
		gpus   []gpu
		layers int
		away   int64
	}{
		{"no GPU", AllThatFit, nil, AllThatFit, 0},
		{"no GPU and none wanted", 0, nil, AllThatFit, 0},
		{"none wanted", 0, []gpu{card(1 << 30)}, 0, 0},
		{"all fit", AllThatFit, []gpu{card(1 << 30)}, 5, all + kv},
		{"some fit", AllThatFit, []gpu{card(three)}, 3, three - scratch},
		{"a byte too few", AllThatFit, []gpu{card(three - 1)}, 2, sizes[0] + sizes[1]},
		{"no room", AllThatFit, []gpu{card(-gpuReserve)}, 0, 0},
		{"two", AllThatFit, []gpu{card(three / 2), card(three - three/2)}, 3, three - scratch},
		{"in the CPU's memory", AllThatFit, []gpu{within}, 3, 0},
		{"two wanted, and it is the user's affair whether they fit", 2, []gpu{card(0)}, 2, sizes[0] + sizes[1]},
		{"more wanted than there are", 99, []gpu{card(0)}, 5, all + kv},
	} {
		got, err := place(f, tc.wanted, tc.gpus, kv, scratch)
		if err != nil || got != (placing{tc.layers, tc.away}) {
			t.Errorf("%s: %+v, %v; want %d layers, %d bytes", tc.name, got, err, tc.layers, tc.away)
		}
	}
	for want, devices := range map[int64][]gpu{0: nil, all: {card(1 << 30)}, sizes[0]: {card(sizes[0])}} {
		if got := gpuWeights(f, AllThatFit, devices, 0); got != min(want, f.Size()) {
			t.Errorf("%d bytes of weights on %d GPUs, want %d", got, len(devices), want)
		}
	}
	if _, err := place(f, 1, nil, kv, scratch); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("layers for a GPU that is not there: %v", err)
	}
}

func TestChooseGPUs(t *testing.T) {
	cpu, card, within := gpu{name: "CPU"}, gpu{name: "card", computes: true}, gpu{name: "within", computes: true, shared: true}
	for _, tc := range []struct{ all, want []gpu }{
		{[]gpu{cpu}, nil},
		{[]gpu{within, cpu}, []gpu{within}},
		{[]gpu{within, card, cpu}, []gpu{card}},
	} {
		if d := cmp.Diff(tc.want, chooseGPUs(tc.all), cmp.AllowUnexported(gpu{})); d != "" {
			t.Errorf("of %v (-want +got):\n%s", tc.all, d)
		}
	}
}
