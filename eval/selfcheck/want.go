package selfcheck

// How a question may come out.
const (
	miss   = 'm'
	tensor = 't' // its chunks' tensors were stored
	hit    = 'a' // a stored answer was served
)

// reactive is percached with its gate and both its stores, and without idle work.
const reactive = "percached-no-idle"

// want is what must come of a system.
type want struct {
	system string
	// came has a letter for each question; empty: it depends on what is predicted.
	came string
	// from has for each question the number of the one whose uncached answer is given.
	from string
	// In the end:
	slices, entries int
	wrong           int  // wrong answers served; -1: it depends on what is predicted
	idle            bool // it works while idle
}

const (
	own    = "123456789"
	served = "121412789" // 3 and 5 get the answer to 1; 6 gets that to 2, which is wrong
	guards = "121416789" // the gate does not serve the answer to 2 for 6
)

// wanted is what must come out, system by system.
//
// Chunk behind chunk, tensors are good behind the same earlier chunks only:
//
//	1  heron, castings   nothing is there; instructions and two chunks are stored: 3 slices
//	2  vet, cat          the instructions are there, no chunk is: 5 slices
//	3  heron, castings   both are there
//	4  castings, heron   in this order nothing is there but the instructions: 7
//	5  heron, castings   both
//	6  vet, cat          both
//	7  cat, vet          the instructions: 9
//	8  boiler, cellar    the instructions: 11
//	9  boiler, cellar    both
//
// Side by side the order does not matter: 4 and 7 find both chunks too, and there are
// 7 slices: of the instructions and of each of six chunks.
//
// Where answers are kept, 3 has the words of 1, and 5 and 6 are near enough to 1 and
// 2. Without the gate all three are served, and the answer for 6 is a wrong one; with
// it 6 is computed. Entries are the questions that were computed.
func wanted() []want {
	return []want{
		{system: "naive", came: "mmmmmmmmm", from: own},
		{system: "naive-parallel", came: "mmmmmmmmm", from: own},
		{system: "ragcache", came: "mmtmttmmt", from: own, slices: 11},
		{system: "meancache", came: "mmamaammm", from: served, entries: 6, wrong: 1},
		{system: "ragcache+meancache", came: "mmamaammt", from: served, slices: 11, entries: 6, wrong: 1},
		{system: "percache", wrong: -1, idle: true},
		{system: "percached", idle: true},
		{system: reactive, came: "mmatattmt", from: guards, slices: 7, entries: 7},
		// Its bank had an answer to each of the eight texts, and every one is wrong.
		{system: "poisoned", came: "aaaaaaaaa", entries: 8, wrong: 9},
	}
}

// What the built-in model takes, by its card: 8 layers of width 256; 4 heads of 64,
// 2 of them for keys and values; a gated feed-forward of 384; 4,096 words.
const (
	// The matrices that a token passes in a layer: Q and the output of attention have
	// 256 x 256 weights each, K and V 256 x 128, the feed-forward 3 x 256 x 384. Each
	// weight is a multiplication and an addition.
	perToken = 8 * 2 * (2*256*256 + 2*256*128 + 3*256*384) // 7,864,320
	// A token's Q against the K of one that it sees, and that one's V added up: 4 heads
	// of 64, a multiplication and an addition each, twice.
	perSeen = 8 * 2 * 2 * 4 * 64 // 8,192
	// From the last layer to the vocabulary, once a generated token.
	perGenerated = 2 * 256 * 4096 // 2,097,152
	// K and V of a stored token: 8 layers, 2 heads of 64, of 2 bytes each number.
	tokenBytes = 8 * 2 * 2 * 64 * 2 // 4,096
)
