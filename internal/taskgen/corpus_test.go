package taskgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen"
	"taskkit.dev/internal/taskgen/testdata/corpus"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/everythingtask"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/plaintask"
	"taskkit.dev/internal/taskgen/testdata/corpus/shape"
	"taskkit.dev/taskkit"
)

// TestCorpusIsCurrent: what the other tests here exercise is what the generator
// makes today.
func TestCorpusIsCurrent(t *testing.T) {
	t.Parallel()
	isCurrent(t, taskgen.Options{Dir: "testdata/corpus", Patterns: []string{"."}})
}

// isCurrent fails when generated code differs from what would be generated.
func isCurrent(t *testing.T, o taskgen.Options) {
	t.Helper()
	out, err := taskgen.Generate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range out.Diagnostics {
		t.Error(d)
	}
	changes, err := out.Changes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		t.Errorf("stale: run taskgen\n%s", c.Diff())
	}
}

// source makes values from a stream of random numbers.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 0))} }

func (s source) str() string {
	letters := []rune("ab \"\\/<>&\n\t\x01\x7féß€😀\u2028\u2029\ufffd")
	var b strings.Builder
	for range s.IntN(6) {
		b.WriteRune(letters[s.IntN(len(letters))])
	}
	return b.String()
}

func (s source) float() float64 {
	for {
		f := math.Float64frombits(s.Uint64())
		switch s.IntN(4) {
		case 0:
			f = float64(s.IntN(2000)-1000) / 8
		case 1:
			f = math.Copysign(0, float64(s.IntN(2)*2-1))
		}
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
}

func (s source) uuid() (id uuid.UUID) {
	for i := range id {
		id[i] = byte(s.Uint32())
	}
	return id
}

func (s source) time() time.Time {
	return time.Unix(s.Int64N(4e9), s.Int64N(1e9)).In(time.FixedZone("", (s.IntN(24)-12)*3600))
}

func (s source) raw() json.RawMessage {
	return []json.RawMessage{nil, []byte("null"), []byte(`{"a":[1,2.50,"<\u003c"]}`), []byte(`"x"`), []byte("-0")}[s.IntN(5)]
}

func (s source) pair() corpus.Pair { return corpus.Pair{Left: s.str(), Right: list(s, s.float)} }

func (s source) color() corpus.Color {
	return corpus.Color{R: uint8(s.Uint32()), G: uint8(s.Uint32()), B: uint8(s.Uint32())}
}

// list returns nil, or some elements.
func list[T any](s source, f func() T) []T {
	n := s.IntN(4) - 1
	if n < 0 {
		return nil
	}
	all := make([]T, n)
	for i := range all {
		all[i] = f()
	}
	return all
}

// table returns nil, or a map of some elements.
func table[K comparable, V any](s source, k func() K, v func() V) map[K]V {
	n := s.IntN(4) - 1
	if n < 0 {
		return nil
	}
	m := map[K]V{}
	for range n {
		m[k()] = v()
	}
	return m
}

// maybe returns nil or a pointer.
func maybe[T any](s source, f func() T) *T {
	if s.IntN(2) == 0 {
		return nil
	}
	v := f()
	return &v
}

func (s source) spec() corpus.Spec {
	integer := func() int { return int(s.Uint64()) }
	return corpus.Spec{
		Text: s.str(), Status: corpus.Status(s.str()), Bool: s.IntN(2) == 0, Flag: s.IntN(2) == 0,
		Int: integer(), Int8: int8(s.Uint32()), Int16: corpus.Level(s.Uint32()), Int32: int32(s.Uint32()), Int64: int64(s.Uint64()),
		Uint: uint(s.Uint64()), Uint8: uint8(s.Uint32()), Uint16: uint16(s.Uint32()), Uint32: s.Uint32(), Uint64: s.Uint64(),
		Float32: float32(s.IntN(1e6)) / 7, Float64: s.float(),
		Bytes: list(s, func() byte { return byte(s.Uint32()) }), Blob: list(s, func() byte { return byte(s.Uint32()) }),
		Raw: s.raw(), Time: s.time(), UUID: s.uuid(), Color: s.color(), Range: corpus.Range{From: 1, To: s.IntN(9)},
		Big:     maybe(s, func() big.Int { return *big.NewInt(s.Int64()) }),
		Strings: list(s, s.str), IDs: list(s, s.uuid),
		Nested:  list(s, func() []int { return list(s, integer) }),
		Triple:  [3]float32{1, float32(s.IntN(9)) / 3, -0.5},
		Pairs:   [2]corpus.Pair{s.pair(), s.pair()},
		Counts:  table(s, s.str, integer),
		ByState: table(s, func() corpus.Status { return corpus.Status(s.str()) }, s.pair),
		ByID:    table(s, s.uuid, func() corpus.IDs { return list(s, s.uuid) }),
		Colors:  table(s, s.color, func() *corpus.Color { return maybe(s, s.color) }),
		Ranges:  table(s, s.str, func() corpus.Range { return corpus.Range{To: s.IntN(9)} }),
		Pair:    s.pair(), Pairs2: list(s, s.pair), PairPtr: maybe(s, s.pair), IntPtr: maybe(s, integer), TimePtr: maybe(s, s.time),
		Page:   corpus.Page[uuid.UUID]{Items: list(s, s.uuid), Next: s.str()},
		Pages:  corpus.Page[corpus.Pair]{Items: list(s, s.pair)},
		Circle: shape.Circle{Center: shape.Point{X: -1, Y: int32(s.Uint32())}, Radius: s.float(), Pair: shape.Pair{A: true}},
	}
}

func (s source) state() corpus.State {
	integer := func() int { return s.IntN(2) }
	st := corpus.State{
		Text: s.str(), Bool: s.IntN(2) == 0, Int: int64(s.IntN(2)), Float: s.float(),
		Bytes: list(s, func() byte { return 'x' }), Raw: s.raw(), List: list(s, integer), Map: table(s, s.str, s.str),
		Ptr: maybe(s, integer), ZText: s.str(), ZFloat: s.float(), ZTimeP: maybe(s, s.time),
		ZRange: corpus.Range{To: s.IntN(2)}, ZList: list(s, integer), ZBoth: list(s, integer),
	}
	if s.IntN(2) == 0 {
		st.ZTime, st.ZUUID, st.ZArray = s.time(), s.uuid(), [4]byte{0, 0, 0, 1}
	}
	if s.IntN(4) == 0 {
		st.ZTimeP = &time.Time{}
	}
	return st
}

// sameJSON checks that a value is written as encoding/json writes it, and comes
// back as it comes back there.
func sameJSON[T any](t *testing.T, c taskkit.Codec[T], v *T) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Append(nil, v)
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("written differently (-encoding/json +taskgen)\n%s", cmp.Diff(string(want), string(got)))
	}
	var mine, theirs T
	if err := c.Decode(got, &mine); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if err := json.Unmarshal(got, &theirs); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, mine, cmp.Comparer(sameInt), cmp.Comparer(sameFunc)); diff != "" {
		t.Fatalf("read differently (-encoding/json +taskgen)\n%s", diff)
	}
	again, err := c.Append(nil, &mine)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("the round trip is not one: %v\n%s\n%s", err, got, again)
	}
}

func sameInt(a, b big.Int) bool { return a.Cmp(&b) == 0 }
func sameFunc(a, b func()) bool { return a == nil && b == nil }

func TestCorpusLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	spec, state := everythingtask.Kind.Codecs()
	sameJSON(t, spec, &corpus.Spec{})
	sameJSON(t, state, &corpus.State{})
	for seed := range uint64(2000) {
		s := newSource(seed)
		one, two := s.spec(), s.state()
		sameJSON(t, spec, &one)
		sameJSON(t, state, &two)
	}
}

// FuzzCorpusDecode: what a generated decoder accepts, encoding/json accepts and
// understands in the same way; what it refuses, it refuses with a place.
func FuzzCorpusDecode(f *testing.F) {
	spec, state := everythingtask.Kind.Codecs()
	for seed := range uint64(20) {
		s := newSource(seed)
		one, two := s.spec(), s.state()
		a, err := spec.Append(nil, &one)
		if err != nil {
			f.Fatal(err)
		}
		b, err := state.Append(nil, &two)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		decodesAlike(t, spec, src)
		decodesAlike(t, state, src)
	})
}

// decodesAlike compares a codec with encoding/json on any bytes.
func decodesAlike[T any](t *testing.T, c taskkit.Codec[T], src []byte) {
	t.Helper()
	var mine, theirs T
	if err := c.Decode(src, &mine); err != nil {
		var e *taskkit.JSONError
		if !errors.As(err, &e) || e.Detail == "" {
			t.Fatalf("%q: %v is not a JSONError", src, err)
		}
		return
	}
	if err := json.Unmarshal(src, &theirs); err != nil {
		t.Fatalf("%q is accepted, and encoding/json says %v", src, err)
	}
	if diff := cmp.Diff(theirs, mine, cmp.Comparer(sameInt), cmp.Comparer(sameFunc)); diff != "" {
		t.Fatalf("%q is read differently (-encoding/json +taskgen)\n%s", src, diff)
	}
}

// TestCorpusRefuses: the places of errors inside all kinds of types.
func TestCorpusRefuses(t *testing.T) {
	t.Parallel()
	spec, _ := everythingtask.Kind.Codecs()
	for src, want := range map[string]string{
		`{"pairs":[{"left":"x","right":[]},{"left":1}]}`: "/pairs/1/left",
		`{"pairs":[{}]}`:       "/pairs",
		`{"triple":[1,2,3,4]}`: "/triple/3",
		`{"by_id":{"01890a5d-ac96-774b-bcce-b302099a8057":["x"]}}`: "/by_id/01890a5d-ac96-774b-bcce-b302099a8057/0",
		`{"by_id":{"x":[]}}`: "/by_id/x",
		`{"by_id":{"01890a5d-ac96-774b-bcce-b302099a8057":null,"01890A5D-ac96-774b-bcce-b302099a8057":null}}`: "/by_id/01890A5D-ac96-774b-bcce-b302099a8057",
		`{"circle":{"center":{"x":1,"x":2}}}`: "/circle/center/x",
		`{"circle":{"pair":{"left":"x"}}}`:    "/circle/pair/left",
		`{"page":{"items":["x"]}}`:            "/page/items/0",
		`{"pair.ptr":{"left":null}}`:          "/pair.ptr/left",
		`{"color":"red"}`:                     "/color",
		`{"range":[1,"2"]}`:                   "/range",
		`{"empty":{"a":1}}`:                   "/empty/a",
		`{"hidden":null}`:                     "/hidden",
		`{"Hidden":null}`:                     "/Hidden",
		`{"nested":[[1],[2,3.5]]}`:            "/nested/1/1",
		`{"int16":40000}`:                     "/int16",
		`{"raw":{"a":"\u0000"}}`:              "/raw/a",
	} {
		var v corpus.Spec
		err := spec.Decode([]byte(src), &v)
		var e *taskkit.JSONError
		if !errors.As(err, &e) || e.Pointer != want {
			t.Errorf("%s: got %v, want an error at %s", src, err, want)
		}
	}
	for name, v := range map[string]corpus.Spec{
		"/pairs/1/right/0": {Pairs: [2]corpus.Pair{{}, {Right: []float64{math.NaN()}}}},
		"/counts":          {Counts: map[string]int{"a": 1, "b\x00": 2}},
		"/by_state/x/left": {ByState: map[corpus.Status]corpus.Pair{"a": {}, "x": {Left: "\xff"}}},
		"/raw/1":           {Raw: json.RawMessage(`[1,x]`)},
	} {
		_, err := spec.Append(nil, &v)
		var e *taskkit.JSONError
		if !errors.As(err, &e) || e.Pointer != name {
			t.Errorf("got %v, want an error at %s", err, name)
		}
	}
}

// BenchmarkCodec compares generated code with encoding/json: a spec of 40,000
// people, and a small state.
func BenchmarkCodec(b *testing.B) {
	s := newSource(1)
	people := plaintask.Spec{Status: "paused"}
	for range 40_000 {
		people.People = append(people.People, s.uuid())
	}
	state := plaintask.State{Changed: 12_345, After: s.uuid().String()}
	specs, states := plaintask.Kind.Codecs()
	compareCodec(b, "spec", specs, &people)
	compareCodec(b, "state", states, &state)
}

// compareCodec measures one codec beside encoding/json.
func compareCodec[T any](b *testing.B, name string, c taskkit.Codec[T], v *T) {
	b.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	for _, side := range []struct {
		name string
		f    func() error
	}{
		{"encode/taskgen", func() error { _, err := c.Append(nil, v); return err }},
		{"encode/encoding-json", func() error { _, err := json.Marshal(v); return err }},
		{"decode/taskgen", func() error { var x T; return c.Decode(data, &x) }},
		{"decode/encoding-json", func() error { var x T; return json.Unmarshal(data, &x) }},
	} {
		b.Run(name+"/"+side.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := side.f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
