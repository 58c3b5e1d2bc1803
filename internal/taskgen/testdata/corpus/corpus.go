// Package corpus holds executors whose types are all that taskgen supports. Its
// generated code is compared with encoding/json.
package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen/testdata/corpus/shape"
	"taskkit.dev/taskkit"
)

type (
	// Status is a string with values.
	Status string
	// Level is a number with a name.
	Level int16
	// IDs is a list with a name.
	IDs []uuid.UUID
	// Blob is bytes with a name.
	Blob []byte
	// Flag is a boolean with a name.
	Flag bool
)

// Color writes itself as text.
type Color struct{ R, G, B uint8 }

// MarshalText writes #rrggbb.
func (c Color) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "#%02x%02x%02x", c.R, c.G, c.B), nil
}

// UnmarshalText reads #rrggbb.
func (c *Color) UnmarshalText(text []byte) error {
	if len(text) != 7 {
		return errors.New("want #rrggbb")
	}
	_, err := fmt.Sscanf(string(text), "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return err
}

// Range writes itself as JSON.
type Range struct{ From, To int }

// MarshalJSON writes two numbers, with a space that must go.
func (r Range) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "[%d, %d]", r.From, r.To), nil
}

// UnmarshalJSON reads two numbers.
func (r *Range) UnmarshalJSON(data []byte) error {
	var pair [2]int
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	r.From, r.To = pair[0], pair[1]
	return nil
}

// IsZero reports whether the range is empty.
func (r Range) IsZero() bool { return r.From == r.To }

// Page is generic.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Spec has a field of every form.
type Spec struct {
	Text    string            `json:"text"`
	Status  Status            `json:"status"`
	Bool    bool              `json:"bool"`
	Flag    Flag              `json:"flag"`
	Int     int               `json:"int"`
	Int8    int8              `json:"int8"`
	Int16   Level             `json:"int16"`
	Int32   int32             `json:"int32"`
	Int64   int64             `json:"int64"`
	Uint    uint              `json:"uint"`
	Uint8   uint8             `json:"uint8"`
	Uint16  uint16            `json:"uint16"`
	Uint32  uint32            `json:"uint32"`
	Uint64  uint64            `json:"uint64"`
	Float32 float32           `json:"float32"`
	Float64 float64           `json:"float64"`
	Bytes   []byte            `json:"bytes"`
	Blob    Blob              `json:"blob"`
	Raw     json.RawMessage   `json:"raw"`
	Time    time.Time         `json:"time"`
	UUID    uuid.UUID         `json:"uuid"`
	Color   Color             `json:"color"`
	Range   Range             `json:"range"`
	Big     *big.Int          `json:"big"`
	Strings []string          `json:"strings"`
	IDs     IDs               `json:"ids"`
	Nested  [][]int           `json:"nested"`
	Triple  [3]float32        `json:"triple"`
	Pairs   [2]Pair           `json:"pairs"`
	Counts  map[string]int    `json:"counts"`
	ByState map[Status]Pair   `json:"by_state"`
	ByID    map[uuid.UUID]IDs `json:"by_id"`
	Colors  map[Color]*Color  `json:"colors"`
	Ranges  map[string]Range  `json:"ranges"`
	Pair    Pair              `json:"pair"`
	Pairs2  []Pair            `json:"pairs-2"`
	PairPtr *Pair             `json:"pair.ptr"`
	IntPtr  *int              `json:"int_ptr"`
	TimePtr *time.Time        `json:"time_ptr"`
	Page    Page[uuid.UUID]   `json:"page"`
	Pages   Page[Pair]        `json:"pages"`
	Circle  shape.Circle      `json:"circle"`
	Empty   struct{}          `json:"empty"`
	Hidden  func()            `json:"-"`
}

// Pair nests.
type Pair struct {
	Left  string    `json:"left"`
	Right []float64 `json:"right"`
}

// State has every way to leave a field out.
type State struct {
	Text   string            `json:"text,omitempty"`
	Bool   bool              `json:"bool,omitempty"`
	Int    int64             `json:"int,omitempty"`
	Float  float64           `json:"float,omitempty"`
	Bytes  []byte            `json:"bytes,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	List   []int             `json:"list,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
	Ptr    *int              `json:"ptr,omitempty"`
	ZText  string            `json:"z_text,omitzero"`
	ZFloat float64           `json:"z_float,omitzero"`
	ZTime  time.Time         `json:"z_time,omitzero"`
	ZTimeP *time.Time        `json:"z_time_p,omitzero"`
	ZUUID  uuid.UUID         `json:"z_uuid,omitzero"`
	ZRange Range             `json:"z_range,omitzero"`
	ZList  []int             `json:"z_list,omitzero"`
	ZBoth  []int             `json:"z_both,omitempty,omitzero"`
	ZArray [4]byte           `json:"z_array,omitzero"`
}

// Result is a list: a result need not be a struct.
type Result []Pair

// Everything is an executor with all that there is.
//
//taskkit:executor every_thing batch=7 max=70 queue=bulk poison=skip alias=all_things alias=old
type Everything struct{}

// Execute implements [taskkit.Executor].
func (Everything) Execute(_ context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	b.State.Text = strings.ToUpper(b.Spec.Text)
	return taskkit.Done, nil
}

// Report implements [taskkit.Reporter].
func (Everything) Report(context.Context, *taskkit.Batch[Spec, State]) (Result, error) {
	return nil, nil
}

// Abort implements [taskkit.Aborter].
func (Everything) Abort(context.Context, *taskkit.Batch[Spec, State]) error { return nil }

// People is a plain spec, for benchmarks.
type People struct {
	People []uuid.UUID `json:"people"`
	Status string      `json:"status"`
}

// Changed is a small state.
type Changed struct {
	Changed int    `json:"changed"`
	After   string `json:"after"`
}

// Plain is an executor with little.
//
//taskkit:executor plain
type Plain struct{}

// Execute implements [taskkit.Executor].
func (*Plain) Execute(context.Context, *taskkit.Batch[People, Changed]) (taskkit.Next, error) {
	return taskkit.Done, nil
}
