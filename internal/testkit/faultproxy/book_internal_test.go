package faultproxy

import "testing"

// The server may answer with an error before it has been sent the rest of what the client wrote at once. It passes
// over that rest, up to the Sync, which ends the round trip.
func TestErrorBeforeSync(t *testing.T) {
	t.Parallel()
	for what, kinds := range map[string]string{
		"after Bind":    "B<E" + "D" + "E" + "S<Z",
		"after Execute": "B<2" + "E<E" + "S<Z",
		"after all":     "B" + "E" + "S<E<Z",
	} {
		b := newBook()
		done := make(chan struct{})
		fromServer := false
		for _, kind := range []byte(kinds) {
			switch {
			case kind == '<':
				fromServer = true
				continue
			case fromServer:
				b.answer(kind)
			default:
				b.begins(kind, kind != 'S')
				b.request(kind, "", nil)
			}
			fromServer = false
		}
		if len(b.open) != 0 || b.waiting {
			t.Errorf("%s: %d messages without an answer, waiting %v", what, len(b.open), b.waiting)
		}
		b.skips = true
		b.request('E', "", done)
		select {
		case <-done:
		default:
			t.Errorf("%s: a message that the server passes over is still waited for", what)
		}
	}
}

// A series is what a client sends up to a Sync.
func TestInSeries(t *testing.T) {
	t.Parallel()
	for kinds, want := range map[string]string{
		"PDSBDES":   "-++-+++",
		"PBEPBES":   "-++++++", // two statements at once
		"QQBESXBES": "---++--++",
		"BHES":      "-+++",
		"BEQBE":     "-++-+", // a client that forgot the Sync
	} {
		b, got := newBook(), ""
		for _, kind := range []byte(kinds) {
			if b.inSeries(kind) {
				got += "+"
			} else {
				got += "-"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", kinds, got, want)
		}
	}
}
