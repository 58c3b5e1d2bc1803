package store

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"sync"
	"time"
)

// MaxLedger bounds the list of the items that succeeded in a batch, as [Ledger.Size]
// counts it, so that whoever reads a list needs no more memory. A batch with a longer
// one is not committed.
const MaxLedger = 4 << 20

// Ledger is what a batch adds to the ledger of its task. The zero value is nothing.
type Ledger struct {
	// Keys are the keys of the items that succeeded, each once. None of them is among the
	// items of the same write.
	Keys []string
	// Replaces: earlier batches may have recorded items. The rows of those that have
	// now succeeded are removed, since the last outcome counts.
	Replaces bool
}

// Size is the length of the list as JSON.
func (l *Ledger) Size() int {
	n := 2
	for _, k := range l.Keys {
		n += len(k) + 1
	}
	return n
}

// LedgerPage is the items that succeeded in one batch.
type LedgerPage struct {
	Batch   int64 // the checkpoint_seq that the batch began with
	Created time.Time
	Items   int64
	Keys    []byte // of [EncodeLedger]
}

// ledgerWriters are writers of gzip, each of which takes some hundred kilobytes.
var ledgerWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("store: gzip has no level BestSpeed: " + err.Error())
	}
	return w
}}

// EncodeLedger returns keys as a JSON array that is compressed with gzip.
func EncodeLedger(keys []string) ([]byte, error) {
	w, ok := ledgerWriters.Get().(*gzip.Writer)
	if !ok {
		panic("store: the pool of writers has something else")
	}
	defer ledgerWriters.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	separator := "["
	for _, k := range keys {
		if _, err := io.WriteString(w, separator+k); err != nil {
			return nil, fmt.Errorf("compress a ledger: %w", err)
		}
		separator = ","
	}
	if len(keys) == 0 {
		separator = "[]"
	} else {
		separator = "]"
	}
	_, err := io.WriteString(w, separator)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress a ledger: %w", err)
	}
	return b.Bytes(), nil
}

// DecodeLedger returns the JSON array of [EncodeLedger].
func DecodeLedger(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("decompress a ledger: %w", err)
	}
	array, err := io.ReadAll(io.LimitReader(r, MaxLedger+1))
	if err == nil && len(array) > MaxLedger {
		err = fmt.Errorf("it has more than %d bytes", MaxLedger)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress a ledger: %w", err)
	}
	return array, nil
}
