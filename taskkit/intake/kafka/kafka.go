// Package kafka is a source of messages from topics of Kafka.
//
// The offset of a partition is committed after the tasks of its records. When partitions move
// to another consumer of the group, records may be delivered again, which the consumer of package intake
// recognises.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Config configures a [Source]. Brokers, Group and Topics are required.
type Config struct {
	// Brokers are the first addresses, such as host:9092.
	Brokers []string

	// ConnectTimeout bounds the search for the brokers and the topics, which is made by the first Receive, after
	// an error, and whenever no record has come for this long. Defaults to 10 s.
	ConnectTimeout time.Duration

	// DeadLetterTopic receives refused records, if intake.Config.DeadLetter is set. Without it they
	// are skipped. It should take the largest record of Topics; the reason why a record was not taken is recorded
	// with its message.
	DeadLetterTopic string

	// Group is the consumer group.
	Group string

	// ID returns the id of a record. Defaults to its topic, partition and offset.
	ID func(r *kgo.Record) string

	// Options are further options of the client, such as TLS and SASL.
	Options []kgo.Opt

	// Topics are the topics to consume.
	Topics []string
}

// Source is a group's share of topics. The first Receive connects; the client reconnects by itself.
type Source struct {
	config  Config
	options []kgo.Opt
	client  *kgo.Client
	found   bool              // brokers and topics, since the last error or silence
	dead    []intake.Delivery // rejected, and not yet produced as dead letters
	// taken are the records of the present batch whose offsets may be committed.
	taken []*kgo.Record
}

// deadLetterTimeout bounds the repetition of dead letters that could not be produced.
const deadLetterTimeout = 10 * time.Second

// produceMax is the largest dead letter that is sent to the broker, whose own limit is usually lower. The client
// reads no larger record and by default writes no larger request.
const produceMax = 90 << 20

// New returns a source. It does not connect. Mistakes in the configuration are
// *[taskkit.OptionError].
func New(c Config) (*Source, error) {
	var errs []error
	bad := func(field string) {
		errs = append(errs, &taskkit.OptionError{Option: "kafka: Config." + field, Problem: "empty"})
	}
	if len(c.Brokers) == 0 {
		bad("Brokers")
	}
	if c.Group == "" {
		bad("Group")
	}
	if len(c.Topics) == 0 {
		bad("Topics")
	}
	if c.ConnectTimeout < 0 {
		errs = append(errs, &taskkit.OptionError{Option: "kafka: Config.ConnectTimeout", Problem: "negative"})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	if c.ID == nil {
		c.ID = func(r *kgo.Record) string { return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset) }
	}
	options := append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Topics...),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ClientID("taskkit-intake"),
		// A dead letter may be produced twice, and an idempotent client may not give one up.
		kgo.ProducerBatchMaxBytes(produceMax), kgo.DisableIdempotentWrite(),
	}, c.Options...)
	if err := kgo.ValidateOpts(options...); err != nil {
		return nil, &taskkit.OptionError{Option: "kafka: Config.Options", Problem: err.Error()}
	}
	return &Source{config: c, options: options}, nil
}

// Receive implements [intake.Source].
func (s *Source) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	if s.client == nil {
		client, err := kgo.NewClient(s.options...)
		if err != nil {
			return nil, fmt.Errorf("make the client of group %s: %w", s.config.Group, err)
		}
		s.client = client
	}
	if len(s.dead) > 0 {
		cctx, cancel := context.WithTimeout(ctx, deadLetterTimeout)
		err := s.commit(cctx)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	s.taken = nil
	for ctx.Err() == nil {
		if err := s.find(ctx); err != nil {
			return nil, fmt.Errorf("consume topics %s in group %s: %w", strings.Join(s.config.Topics, ", "), s.config.Group, err)
		}
		if ds, err := s.poll(ctx, limit); len(ds) > 0 || err != nil {
			return ds, err
		}
	}
	return nil, nil
}

// poll waits at most ConnectTimeout for records.
func (s *Source) poll(ctx context.Context, limit int) ([]intake.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	fetches := s.client.PollRecords(ctx, limit)
	var ds []intake.Delivery
	for r := range fetches.RecordsAll() {
		headers := make(map[string]string, len(r.Headers))
		for _, h := range r.Headers {
			if h.Value != nil {
				headers[h.Key] = string(h.Value)
			}
		}
		m := intake.Message{ID: s.config.ID(r), Body: r.Value, Headers: headers, Sequence: r.Offset + 1, Timestamp: r.Timestamp.UTC()}
		ds = append(ds, intake.Delivery{Message: m, Receipt: r})
	}
	if len(ds) > 0 {
		return ds, nil
	}
	s.found = false
	for _, failed := range fetches.Errors() {
		if ctx.Err() == nil || !errors.Is(failed.Err, ctx.Err()) {
			return nil, fmt.Errorf("consume partition %d of topic %q in group %s: %w", failed.Partition, failed.Topic, s.config.Group, failed.Err)
		}
	}
	return nil, nil
}

// find returns an error if no broker answers or a topic does not exist. The client itself would try again and again,
// and return nothing.
func (s *Source) find(ctx context.Context) error {
	if s.found {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	if err := s.client.Ping(ctx); err != nil {
		return fmt.Errorf("no broker of %s answers: %w", strings.Join(s.config.Brokers, ", "), err)
	}
	if regular, _ := s.client.OptValue(kgo.ConsumeRegex).(bool); !regular {
		request := kmsg.NewPtrMetadataRequest()
		request.AllowAutoTopicCreation, _ = s.client.OptValue(kgo.AllowAutoTopicCreation).(bool)
		for _, name := range s.config.Topics {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = &name
			request.Topics = append(request.Topics, topic)
		}
		response, err := request.RequestWith(ctx, s.client)
		if err != nil {
			return err
		}
		for _, topic := range response.Topics {
			if err := kerr.ErrorForCode(topic.ErrorCode); err != nil && topic.Topic != nil {
				return fmt.Errorf("find topic %s: %w", *topic.Topic, err)
			}
		}
	}
	s.found = true
	return nil
}

// Ack implements [intake.Source].
func (s *Source) Ack(ctx context.Context, ds []intake.Delivery) error {
	s.taken = append(s.taken, records(ds)...)
	return s.commit(ctx)
}

// Reject implements [intake.Source]. Dead letters that could not be produced since no broker answers are produced
// before the next Receive.
func (s *Source) Reject(ctx context.Context, ds []intake.Delivery) error {
	if s.config.DeadLetterTopic == "" {
		return s.Ack(ctx, ds)
	}
	s.dead = append(s.dead, ds...)
	return s.commit(ctx)
}

// commit produces dead letters, and then commits the offsets of the whole batch at once, since
// the last commit holds even if its offset is lower.
func (s *Source) commit(ctx context.Context) error {
	if err := s.produce(ctx); err != nil {
		return err
	}
	if err := s.client.CommitRecords(ctx, s.taken...); err != nil {
		return fmt.Errorf("commit offsets of group %s: %w", s.config.Group, err)
	}
	return nil
}

// produce produces dead letters one by one: together they may be larger than what the topic takes. Those that it
// does not take are in a *[intake.DeadLetterError].
func (s *Source) produce(ctx context.Context) error {
	var untaken *intake.DeadLetterError
	for len(s.dead) > 0 {
		for _, r := range records(s.dead[:1]) {
			err := s.client.ProduceSync(ctx, &kgo.Record{Topic: s.config.DeadLetterTopic, Key: r.Key, Value: r.Value, Headers: r.Headers}).FirstErr()
			if err == nil {
				s.taken = append(s.taken, r)
				break
			}
			err = fmt.Errorf("produce a dead letter of %d bytes to topic %s: %w", len(r.Value), s.config.DeadLetterTopic, err)
			if !s.answers(ctx, err) {
				if untaken == nil {
					return err
				}
				return untaken // and the others before the next Receive
			}
			if untaken == nil {
				untaken = &intake.DeadLetterError{Err: err}
			}
			untaken.Deliveries = append(untaken.Deliveries, s.dead[0])
		}
		s.dead = s.dead[1:]
	}
	if untaken != nil {
		return untaken
	}
	return nil
}

// answers reports whether it is the topic that does not take a record: a broker has refused it, or answers while the time
// to produce it is over.
func (s *Source) answers(ctx context.Context, err error) bool {
	if _, refused := errors.AsType[*kerr.Error](err); refused {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ConnectTimeout)
	defer cancel()
	return s.client.Ping(ctx) == nil
}

func records(ds []intake.Delivery) []*kgo.Record {
	rs := make([]*kgo.Record, 0, len(ds))
	for _, d := range ds {
		if r, ok := d.Receipt.(*kgo.Record); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

// Close implements [intake.Source].
func (s *Source) Close() error {
	if s.client != nil {
		s.client.CloseAllowingRebalance()
	}
	return nil
}
