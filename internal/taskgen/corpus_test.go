package taskgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen"
	"taskkit.dev/internal/taskgen/testdata/corpus"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/everythingtask"
	"taskkit.dev/internal/taskgen/testdata/corpus/gen/shapestask"
	"taskkit.dev/internal/taskgen/testdata/corpus/shape"
	"taskkit.dev/taskkit/taskjson"
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

func (s source) mood() corpus.Mood { return []corpus.Mood{"", corpus.Glad, corpus.Sad}[s.IntN(3)] }

func (s source) rank() corpus.Rank { return corpus.Rank(s.IntN(3)) }

func (s source) option() corpus.Option { return corpus.Option{Extra: s.str(), On: s.IntN(2) == 0} }

func (s source) base() corpus.Base { return corpus.Base{Name: s.str(), Shared: s.IntN(9)} }

// tree returns a tree of so many levels at most.
func (s source) tree(depth int) corpus.Tree {
	t := corpus.Tree{Value: s.IntN(9)}
	if depth > 0 {
		below := func() corpus.Tree { return s.tree(depth - 1) }
		t.Children, t.Left, t.By = list(s, below), maybe(s, below), table(s, s.str, below)
	}
	return t
}

func (s source) forest(depth int) corpus.Forest {
	if depth == 0 {
		return nil
	}
	return list(s, func() corpus.Forest { return s.forest(depth - 1) })
}

func (s source) shapes() corpus.Shapes {
	tree := func() corpus.Tree { return s.tree(2) }
	v := corpus.Shapes{
		Deep: corpus.Deep{Base: s.base(), Depth: s.IntN(9)}, Option: maybe(s, s.option), Shared: s.str(),
		Tree: tree(), Trees: table(s, s.str, func() *corpus.Tree { return maybe(s, tree) }), Forest: s.forest(3),
		ByInt:   table(s, func() int { return s.IntN(2000) - 1000 }, s.str),
		ByLevel: table(s, func() corpus.Level { return corpus.Level(s.Uint32()) }, func() bool { return s.IntN(2) == 0 }),
		ByUint:  table(s, func() uint8 { return uint8(s.Uint32()) }, s.base),
		Mood:    s.mood(), Moods: list(s, s.mood), MoodPtr: maybe(s, s.mood), MoodBy: table(s, s.str, s.mood),
		Rank: s.rank(), Ranks: table(s, s.rank, func() int { return s.IntN(9) }), Cents: corpus.Cents(s.IntN(500)),
		Both: corpus.BaseBoth{Option: s.option(), Value: s.base(), Other: list(s, s.base)},
		Boths: list(s, func() corpus.Both[corpus.Mood] {
			return corpus.Both[corpus.Mood]{Value: s.mood(), Other: list(s, s.mood)}
		}),
	}
	v.Inner, v.Deep.Shared = s.str(), 0 // hidden by another: not in JSON
	v.Anonymous.A, v.Anonymous.B = s.IntN(9), list(s, s.str)
	v.Anonymouses = list(s, func() struct {
		A bool `json:"a,omitempty"`
	} {
		return struct {
			A bool `json:"a,omitempty"`
		}{s.IntN(2) == 0}
	})
	return v
}

// sameJSON checks that a value is written as encoding/json writes it, and comes
// back as it comes back there.
func sameJSON[T any](t *testing.T, c taskjson.Codec[T], v *T) {
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
	if diff := cmp.Diff(theirs, mine, alike...); diff != "" {
		t.Fatalf("read differently (-encoding/json +taskgen)\n%s", diff)
	}
	again, err := c.Append(nil, &mine)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("the round trip is not one: %v\n%s\n%s", err, got, again)
	}
}

// alike is how values are compared: with their unexported fields.
var alike = []cmp.Option{
	cmp.Comparer(sameInt), cmp.Comparer(sameFunc), cmp.Exporter(func(reflect.Type) bool { return true }),
}

func sameInt(a, b big.Int) bool { return a.Cmp(&b) == 0 }
func sameFunc(a, b func()) bool { return a == nil && b == nil }

func TestCorpusLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	spec, state, _ := everythingtask.Kind.Codecs()
	shapes, _, _ := shapestask.Kind.Codecs()
	sameJSON(t, shapes, &corpus.Shapes{})
	sameJSON(t, spec, &corpus.Spec{})
	sameJSON(t, state, &corpus.State{})
	for seed := range uint64(2000) {
		s := newSource(seed)
		one, two := s.spec(), s.state()
		sameJSON(t, spec, &one)
		sameJSON(t, state, &two)
		three := s.shapes()
		sameJSON(t, shapes, &three)
	}
}

// TestCorpusEnums: what is none of an enum's values is neither written nor read,
// and not told.
func TestCorpusEnums(t *testing.T) {
	t.Parallel()
	codec, _, _ := shapestask.Kind.Codecs()
	glum := corpus.Mood("glum")
	for pointer, v := range map[string]corpus.Shapes{
		"/mood": {Mood: glum}, "/moods/1": {Moods: []corpus.Mood{"", glum}}, "/mood_ptr": {MoodPtr: &glum},
		"/rank": {Rank: 3}, "/boths/0/value": {Boths: []corpus.Both[corpus.Mood]{{Value: glum}}},
	} {
		wrongAt(t, pointer, func() error { _, err := codec.Append(nil, &v); return err }())
	}
	for pointer, src := range map[string]string{
		"/mood": `{"mood":"glum"}`, "/moods/1": `{"moods":["sad","glum"]}`, "/mood_by/x": `{"mood_by":{"x":"glum"}}`,
		"/rank": `{"rank":3}`, "/by_int/01": `{"by_int":{"01":"x"}}`, "/by_uint/256": `{"by_uint":{"256":{}}}`,
		"/by_level/+1": `{"by_level":{"+1":true}}`, "/ranks/1": `{"ranks":{"1":1,"1":1}}`,
	} {
		wrongAt(t, pointer, codec.Decode([]byte(src), new(corpus.Shapes)))
	}
}

// wrongAt fails the test unless an error is one of JSON, at a place, without the
// value that is wrong.
func wrongAt(t *testing.T, pointer string, err error) {
	t.Helper()
	var e *taskjson.Error
	if !errors.As(err, &e) || e.Pointer != pointer || strings.Contains(e.Detail, "glum") {
		t.Errorf("got %v, want an error at %s that does not quote", err, pointer)
	}
}

// TestCorpusCircle: pointers that lead back are an error, and not the end.
func TestCorpusCircle(t *testing.T) {
	t.Parallel()
	codec, _, _ := shapestask.Kind.Codecs()
	v := corpus.Shapes{}
	v.Tree.Left = &v.Tree
	_, err := codec.Append(nil, &v)
	var e *taskjson.Error
	if !errors.As(err, &e) || e.Problem != "too_deep" {
		t.Errorf("a circle: %v", err)
	}
	var knot corpus.Knot
	knot.Other = &knot
	_, err = codec.Append(nil, &corpus.Shapes{Knots: map[string]corpus.Knot{"a": knot}})
	if !errors.As(err, &e) || e.Problem != "too_deep" {
		t.Errorf("a circle met first in a map: %v", err)
	}
	deep := strings.Repeat(`{"children":[`, 60) + strings.Repeat(`]}`, 60)
	if err := codec.Decode([]byte(`{"tree":`+deep+`}`), &v); !errors.As(err, &e) || e.Problem != "too_deep" {
		t.Errorf("too deep: %v", err)
	}
}

// FuzzCorpusDecode: what a generated decoder accepts, encoding/json accepts and
// understands in the same way; what it refuses, it refuses with a place.
func FuzzCorpusDecode(f *testing.F) {
	spec, state, _ := everythingtask.Kind.Codecs()
	shapes, _, _ := shapestask.Kind.Codecs()
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
		three := s.shapes()
		c, err := shapes.Append(nil, &three)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		decodesAlike(t, spec, src)
		decodesAlike(t, state, src)
		decodesAlike(t, shapes, src)
	})
}

// FuzzCorpusRoundTrip: any value is written as encoding/json writes it, and comes
// back. The fuzzer chooses the stream of numbers that values are made of.
func FuzzCorpusRoundTrip(f *testing.F) {
	spec, state, _ := everythingtask.Kind.Codecs()
	shapes, _, _ := shapestask.Kind.Codecs()
	f.Fuzz(func(t *testing.T, seed uint64) {
		s := newSource(seed)
		one, two, three := s.spec(), s.state(), s.shapes()
		sameJSON(t, spec, &one)
		sameJSON(t, state, &two)
		sameJSON(t, shapes, &three)
	})
}

// decodesAlike compares a codec with encoding/json on any bytes.
func decodesAlike[T any](t *testing.T, c taskjson.Codec[T], src []byte) {
	t.Helper()
	var mine, theirs T
	if err := c.Decode(src, &mine); err != nil {
		var e *taskjson.Error
		if !errors.As(err, &e) || e.Detail == "" {
			t.Fatalf("%q: %v is no *taskjson.Error", src, err)
		}
		return
	}
	if err := json.Unmarshal(src, &theirs); err != nil {
		t.Fatalf("%q is accepted, and encoding/json says %v", src, err)
	}
	if diff := cmp.Diff(theirs, mine, alike...); diff != "" {
		t.Fatalf("%q is read differently (-encoding/json +taskgen)\n%s", src, diff)
	}
}

// TestCorpusRefuses: the places of errors inside all kinds of types.
func TestCorpusRefuses(t *testing.T) {
	t.Parallel()
	spec, _, _ := everythingtask.Kind.Codecs()
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
		var e *taskjson.Error
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
		var e *taskjson.Error
		if !errors.As(err, &e) || e.Pointer != name {
			t.Errorf("got %v, want an error at %s", err, name)
		}
	}
}
