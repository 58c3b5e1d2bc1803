package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"time"

	"github.com/bytedance/sonic"
	jsonv2 "github.com/go-json-experiment/json"
	goccy "github.com/goccy/go-json"
	"github.com/google/uuid"

	"taskkit.dev/bench/codecs/easy"
	"taskkit.dev/bench/codecs/gen/shapestask"
	"taskkit.dev/bench/codecs/shapes"
	"taskkit.dev/taskkit/taskjson"
)

// The metrics of writing and reading a value: processor time, including the garbage
// collector, which hardly varies when the machine is busy.
const (
	encodeTime   = "encode CPU us"
	decodeTime   = "decode CPU us"
	encodeAllocs = "encode allocations"
	decodeAllocs = "decode allocations"
)

// codecGoal is the least ratio of our speed to the speed of any other codec.
const codecGoal = 1 / 1.1

// codecTime is the processor time of one measurement at full size.
const codecTime = 500 * time.Millisecond

// codecs compares JSON codecs. No other one may be more than 1.1 times as fast. Each runs
// with its defaults, and sonic also in its mode compatible with encoding/json.
func codecs(_ *host, o options) ([]contest, error) {
	least := max(time.Duration(float64(codecTime)*o.scale), time.Millisecond)
	spec, state, result := shapeValues()
	specs, states, results := shapestask.Kind.Codecs()
	list := codecContest("40,000 UUIDs", least, &spec, specs,
		codecSide("easyjson", least, (*easy.Spec)(&spec), (*easy.Spec).MarshalJSON, (*easy.Spec).UnmarshalJSON))
	small := codecContest("small struct", least, &state, states,
		codecSide("easyjson", least, (*easy.State)(&state), (*easy.State).MarshalJSON, (*easy.State).UnmarshalJSON))
	deep := codecContest("deep maps, 2,420 keys", least, &result, results,
		codecSide("easyjson", least, (*easy.Result)(&result), (*easy.Result).MarshalJSON, (*easy.Result).UnmarshalJSON))
	deep.goals = append(deep.goals, goal{metric: encodeAllocs, value: 50})
	return []contest{list, small, deep}, nil
}

// shapeValues returns the values that are written and read.
func shapeValues() (shapes.Spec, shapes.State, shapes.Result) {
	var spec shapes.Spec
	for i := range 40_000 {
		spec.People = append(spec.People, uuid.NewSHA1(uuid.NameSpaceOID, []byte(strconv.Itoa(i))))
	}
	state := shapes.State{
		Changed: 12_345, Skipped: 67, Phase: "sending", After: spec.People[0].String(),
		Checked: time.Date(2026, 2, 3, 4, 5, 6, 789_000_000, time.UTC),
	}
	result := shapes.Result{Counts: map[string]map[string]map[string]int{}}
	for region := range 20 {
		coaches := map[string]map[string]int{}
		for coach := range 20 {
			coaches[fmt.Sprintf("coach-%02d", coach)] = map[string]int{
				"active": region, "paused": 10 * coach, "exited": 1000 * region, "waiting": coach, "unknown": 123_456,
			}
		}
		result.Counts[fmt.Sprintf("region-%02d", region)] = coaches
	}
	return spec, state, result
}

// codecContest compares the codecs with one value. The side of easyjson has a type
// of its own.
func codecContest[T any](title string, least time.Duration, v *T, own taskjson.Codec[T], easyjson side) contest {
	of := func(name string, encode func(any) ([]byte, error), decode func([]byte, any) error) side {
		return codecSide(name, least, v,
			func(v *T) ([]byte, error) { return encode(v) },
			func(v *T, src []byte) error { return decode(src, v) })
	}
	standard := sonic.ConfigStd
	return contest{
		title: title,
		metrics: []metric{
			{name: encodeTime, less: true},
			{name: encodeAllocs, less: true, info: true},
			{name: decodeTime, less: true},
			{name: decodeAllocs, less: true, info: true},
		},
		sides: []side{
			codecSide(us, least, v,
				func(v *T) ([]byte, error) { return own.Append(nil, v) },
				func(v *T, src []byte) error { return own.Decode(src, v) }),
			of("encoding/json", json.Marshal, json.Unmarshal),
			of("json/v2",
				func(v any) ([]byte, error) { return jsonv2.Marshal(v) },
				func(src []byte, v any) error { return jsonv2.Unmarshal(src, v) }),
			of("goccy/go-json", goccy.Marshal, goccy.Unmarshal),
			of("sonic", sonic.Marshal, sonic.Unmarshal),
			of("sonic, ConfigStd", standard.Marshal, standard.Unmarshal),
			easyjson,
		},
		goals: []goal{{anyPeer, encodeTime, codecGoal}, {anyPeer, decodeTime, codecGoal}},
	}
}

// codecSide measures a codec with a value, after a check of its correctness.
func codecSide[T any](name string, least time.Duration, v *T, encode func(*T) ([]byte, error), decode func(*T, []byte) error) side {
	return side{name, func(context.Context) (sample, error) {
		data, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		var again, read T
		if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(&again, v) {
			return nil, fmt.Errorf("encode: encoding/json reads another value, or fails: %w", err)
		}
		if data, err = json.Marshal(v); err != nil { // all read the same bytes
			return nil, fmt.Errorf("encode: %w", err)
		}
		if err := decode(&read, data); err != nil || !reflect.DeepEqual(&read, v) {
			return nil, fmt.Errorf("decode: the value is another one, or none: %w", err)
		}
		got := sample{}
		got[encodeTime], got[encodeAllocs], err = perCall(least, func() error {
			_, err := encode(v)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		got[decodeTime], got[decodeAllocs], err = perCall(least, func() error {
			var into T
			return decode(&into, data)
		})
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		return got, nil
	}}
}

// perCall calls a function until at least the given processor time is used, and returns
// the microseconds and the allocations of a call.
func perCall(least time.Duration, f func() error) (us, allocations float64, err error) {
	var before, after runtime.MemStats
	for calls := 1; ; calls *= 2 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := cpuTime()
		for range calls {
			if err := f(); err != nil {
				return 0, 0, err
			}
		}
		took := cpuTime() - began
		if took < least {
			continue
		}
		runtime.ReadMemStats(&after)
		return perUnit(took, calls), float64((after.Mallocs - before.Mallocs) / uint64(calls)), nil
	}
}
