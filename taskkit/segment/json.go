package segment

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// wire is the JSON of a segment. Values are strings, so that no number loses digits.
type wire struct {
	Form  form    `json:"form"`
	Type  Type    `json:"type,omitempty"`
	From  *string `json:"from,omitempty"`
	To    *string `json:"to,omitempty"`
	Value *string `json:"value,omitempty"` // a prefix or an exact value
	Null  bool    `json:"null,omitempty"`

	Matching Rule `json:"matching,omitempty"`

	// Of a predicate.
	Name      string          `json:"name,omitempty"`
	Condition string          `json:"condition,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// MarshalJSON encodes the segment so that UnmarshalJSON returns the same, but for a
// [Predicate], whose condition needs [Predicates.Find] afterwards. The zero Segment is null.
func (s Segment) MarshalJSON() ([]byte, error) {
	if s.IsZero() {
		return []byte("null"), nil
	}
	if p := s.problem(); p != "" {
		return nil, refuse("Segment", "", "%s", p)
	}
	w := wire{
		Form: s.form, Type: s.valueType(), Null: s.null && s.form != nullOnly, Matching: s.rule,
		Name: s.filter.name, Condition: s.filter.condition, Args: json.RawMessage(s.filter.args),
	}
	switch s.form {
	case prefix, exact:
		w.Value = &s.from.text
	case interval, nullOnly, predicate:
		if s.from != (Value{}) {
			w.From = &s.from.text
		}
		if s.to != (Value{}) {
			w.To = &s.to.text
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes what MarshalJSON has encoded, and refuses all else with a
// [ParameterError].
func (s *Segment) UnmarshalJSON(data []byte) error {
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		*s = Segment{}
		return nil
	}
	var w wire
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return refuse("Segment", "", "its JSON cannot be read: %v", err)
	}
	read := func(text *string) Value {
		if text == nil {
			return Value{}
		}
		return parseValue(w.Type, *text)
	}
	d := Segment{form: w.Form, null: w.Null, rule: w.Matching}
	hasEnds, hasValue := w.From != nil || w.To != nil, w.Value != nil
	switch w.Form {
	case interval:
		d.from, d.to = read(w.From), read(w.To)
	case prefix, exact:
		d.from = read(w.Value)
	case nullOnly:
		d.null = true
	case predicate:
		d.filter = readFilter(w)
	default:
		return refuse("Segment", "", "its JSON has the unknown form %q", w.Form)
	}
	if hasEnds != (w.Form == interval && hasEnds) || hasValue != (w.Form == prefix || w.Form == exact) ||
		w.Form != predicate && (w.Name != "" || w.Condition != "" || w.Args != nil) {
		return refuse("Segment", "", "its JSON has the wrong members for the form %q", w.Form)
	}
	p := d.problem()
	if p == "" && d.valueType() != w.Type {
		p = fmt.Sprintf("its JSON has the type %q without a value of it", w.Type)
	}
	if p != "" {
		return refuse("Segment", "", "%s", p)
	}
	*s = d
	return nil
}

// readFilter returns the predicate that was stored.
func readFilter(w wire) filter {
	var list []wireValue
	if w.Args != nil {
		if err := json.Unmarshal(w.Args, &list); err != nil {
			return filter{problem: "its JSON has arguments that cannot be read: " + err.Error()}
		}
	}
	args := make([]Value, len(list))
	for i, v := range list {
		args[i] = parseValue(v.Type, v.Value)
	}
	f := Predicate(w.Name, w.Condition, args...).filter
	f.stored = true
	return f
}
