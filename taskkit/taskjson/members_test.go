package taskjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/taskkit/taskjson"
)

// large is a value of a map that is too large to be kept twice.
type large struct {
	A string     `json:"a"`
	B [20]uint64 `json:"b"`
}

// writeMap writes a map as generated code does.
func writeMap[K ~string, V any](e *taskjson.Encoder, m map[K]V, value func(V)) {
	taskjson.WriteMap(e, m, func(_ *taskjson.Encoder, v V) { value(v) })
}

// TestMembersLikeEncodingJSON: maps of every size, with keys that begin alike, are
// written as encoding/json writes them.
func TestMembersLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	type name string
	keys := []name{"", "a", "a ", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgh ", "é", "\x7f", "\U0010ffff", `"`, "<"}
	for i := range 40 {
		keys = append(keys, name(fmt.Sprintf("a-long-beginning-%d", i)), name(strings.Repeat("x", i+1)))
	}
	for n := range len(keys) + 1 {
		few, many := map[name]int{}, map[name]large{}
		for i, k := range keys[len(keys)-n:] {
			few[k], many[k] = i, large{A: string(k)}
		}
		want, err := json.Marshal(few)
		if err != nil {
			t.Fatal(err)
		}
		got, err := written(t, func(e *taskjson.Encoder) { writeMap(e, few, func(v int) { e.Int(int64(v)) }) })
		if err != nil || got != string(want) {
			t.Fatalf("got  %s, %v\nwant %s", got, err, want)
		}
		if want, err = json.Marshal(many); err != nil {
			t.Fatal(err)
		}
		got, err = written(t, func(e *taskjson.Encoder) {
			writeMap(e, many, func(v large) { data, _ := json.Marshal(v); e.Raw(data) })
		})
		if err != nil || got != string(want) {
			t.Fatalf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

// TestMembersStop: who stops within a map gets no more of it.
func TestMembersStop(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 100} {
		m := map[string]int{}
		for i := range n {
			m[fmt.Sprint(i)] = i
		}
		got := 0
		for range taskjson.Members(m) {
			got++
			break
		}
		if got != 1 {
			t.Errorf("%d members of %d, want 1", got, n)
		}
	}
}

// TestEncodeDeepMapsAllocations: writing maps of up to 32 members allocates nothing
// but the bytes that are returned.
//
//nolint:paralleltest // allocations are counted in the whole process
func TestEncodeDeepMapsAllocations(t *testing.T) {
	deep := map[string]map[string]int{}
	for i := range 32 {
		deep[fmt.Sprintf("outer-%d", i)] = map[string]int{}
		for j := range 32 {
			deep[fmt.Sprintf("outer-%d", i)][fmt.Sprintf("inner-%d", j)] = j
		}
	}
	allocations := testing.AllocsPerRun(100, func() {
		e := taskjson.NewEncoder(nil)
		writeMap(&e, deep, func(m map[string]int) {
			writeMap(&e, m, func(v int) { e.Int(int64(v)) })
		})
		if _, err := e.Finish(); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 10 {
		t.Errorf("%v allocations, want few", allocations)
	}
}

// TestEncodeSharesNothing: what was written stays as it is while other values are
// written, whether or not its size was estimated well.
func TestEncodeSharesNothing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 1000, 100_000, 1_000_000} {
		var all [][]byte
		values := []string{strings.Repeat("a", n), strings.Repeat("b", n), strings.Repeat("c", n)}
		for _, text := range values {
			e := taskjson.NewEncoder(nil)
			parts := strings.Split(text, strings.Repeat(text[:1], 10))
			taskjson.WriteSlice(&e, parts, func(e *taskjson.Encoder, part string) { e.String(part + text[:10]) })
			out, err := e.Finish()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, out)
		}
		for i, out := range all {
			other := values[(i+1)%len(values)][:1]
			if !json.Valid(out) || strings.Contains(string(out), other) {
				t.Errorf("%d bytes: %.100q was overwritten", n, out)
			}
		}
	}
}
