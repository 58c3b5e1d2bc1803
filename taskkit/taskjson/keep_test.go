package taskjson_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/taskkit/taskjson"
)

// TestDecodeSharesNothing: strings of all lengths stay as they are when the source
// is overwritten and other sources are read.
func TestDecodeSharesNothing(t *testing.T) {
	t.Parallel()
	read := func(c byte) (got, want []string) {
		var src []byte
		for i := range 200 {
			want = append(want, strings.Repeat(string(c), i))
			src = fmt.Appendf(src, ",%q", want[i])
		}
		src[0] = '['
		src = append(src, ']')
		d := taskjson.NewDecoder(src)
		for d.BeginArray(); d.More(); {
			got = append(got, d.String())
		}
		d.End()
		if err := d.Finish(); err != nil {
			t.Error(err)
		}
		clear(src)
		return got, want
	}
	gotA, wantA := read('a')
	gotB, wantB := read('b')
	if !slices.Equal(gotA, wantA) || !slices.Equal(gotB, wantB) {
		t.Errorf("got\n%q\n%q", gotA, gotB)
	}
}

// TestMembersIsSizeOfLastMap: the room for a map is the size of the last one at its
// depth in the same source.
func TestMembersIsSizeOfLastMap(t *testing.T) {
	t.Parallel()
	for range 2 {
		d := taskjson.NewDecoder([]byte(`[{"a":1,"b":2},{"a":1},{},{"a":1}]`))
		var got []int
		for d.BeginArray(); d.More(); {
			d.BeginObject()
			got = append(got, d.Members())
			n := 0
			for ; d.More(); n++ {
				d.Key()
				d.Int()
			}
			d.EndMap(n)
		}
		d.End()
		if err := d.Finish(); err != nil || !slices.Equal(got, []int{0, 2, 1, 0}) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}
