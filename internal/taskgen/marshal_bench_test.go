package taskgen_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"taskkit.dev/internal/taskgen/testdata/corpus/gen/plaintask"
	"taskkit.dev/taskkit/taskjson"
)

// BenchmarkCodec compares generated code with encoding/json: a spec of 40,000
// people, and a small state.
func BenchmarkCodec(b *testing.B) {
	s := newSource(1)
	people := plaintask.Spec{Status: "paused"}
	for range 40_000 {
		people.People = append(people.People, s.uuid())
	}
	state := plaintask.State{Changed: 12_345, After: s.uuid().String()}
	specs, states, _ := plaintask.Kind.Codecs()
	compareCodec(b, "spec", specs, &people)
	compareCodec(b, "state", states, &state)
}

// compareCodec measures one codec beside encoding/json.
func compareCodec[T any](b *testing.B, name string, c taskjson.Codec[T], v *T) {
	b.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	// Into room that is there already, as far as each can.
	var (
		room   []byte
		buffer bytes.Buffer
		stream = json.NewEncoder(&buffer)
	)
	for _, side := range []struct {
		name string
		f    func() error
	}{
		{"encode/taskgen", func() error { _, err := c.Append(nil, v); return err }},
		{"encode/encoding-json", func() error { _, err := json.Marshal(v); return err }},
		{"append/taskgen", func() (err error) { room, err = c.Append(room[:0], v); return err }},
		{"append/encoding-json", func() error { buffer.Reset(); return stream.Encode(v) }},
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
