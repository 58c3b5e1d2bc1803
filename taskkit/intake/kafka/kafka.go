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
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Config configures a [Source]. Brokers, Group and Topics are required.
type Config struct {
	// Brokers are the first addresses, such as host:9092.
	Brokers []string

	// DeadLetterTopic receives refused records, if intake.Config.DeadLetter is set. Without it they
	// are skipped.
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
	config Config
	client *kgo.Client
	dead   []*kgo.Record // rejected, and not yet produced as dead letters
	// taken are the records of the present batch whose offsets may be committed.
	taken []*kgo.Record
}

// deadLetterTimeout bounds the repetition of dead letters that could not be produced.
const deadLetterTimeout = 10 * time.Second

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
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if c.ID == nil {
		c.ID = func(r *kgo.Record) string { return fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset) }
	}
	options := append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Topics...),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ClientID("taskkit-intake"),
	}, c.Options...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, &taskkit.OptionError{Option: "kafka: Config.Options", Problem: err.Error()}
	}
	return &Source{config: c, client: client}, nil
}

// Receive implements [intake.Source].
func (s *Source) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	if len(s.dead) > 0 {
		cctx, cancel := context.WithTimeout(ctx, deadLetterTimeout)
		err := s.commit(cctx)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	s.taken = nil
	fetches := s.client.PollRecords(ctx, limit)
	var ds []intake.Delivery
	for r := range fetches.RecordsAll() {
		headers := make(map[string]string, len(r.Headers))
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		ds = append(ds, intake.Delivery{Message: intake.Message{ID: s.config.ID(r), Body: r.Value, Headers: headers}, Receipt: r})
	}
	if failed := fetches.Errors(); len(ds) == 0 && len(failed) > 0 && ctx.Err() == nil {
		return nil, fmt.Errorf("consume partition %d of topic %q in group %s: %w", failed[0].Partition, failed[0].Topic, s.config.Group, failed[0].Err)
	}
	return ds, nil
}

// Ack implements [intake.Source].
func (s *Source) Ack(ctx context.Context, ds []intake.Delivery) error {
	s.taken = append(s.taken, records(ds)...)
	return s.commit(ctx)
}

// Reject implements [intake.Source]. Dead letters that could not be produced are produced before the next
// Receive.
func (s *Source) Reject(ctx context.Context, ds []intake.Delivery) error {
	s.dead = append(s.dead, records(ds)...)
	return s.commit(ctx)
}

// commit produces dead letters, and then commits the offsets of the whole batch at once, since
// the last commit holds even if its offset is lower.
func (s *Source) commit(ctx context.Context) error {
	if s.config.DeadLetterTopic != "" && len(s.dead) > 0 {
		dead := make([]*kgo.Record, 0, len(s.dead))
		for _, r := range s.dead {
			dead = append(dead, &kgo.Record{Topic: s.config.DeadLetterTopic, Key: r.Key, Value: r.Value, Headers: r.Headers})
		}
		if err := s.client.ProduceSync(ctx, dead...).FirstErr(); err != nil {
			return fmt.Errorf("produce %d dead letters to topic %s: %w", len(dead), s.config.DeadLetterTopic, err)
		}
	}
	s.taken, s.dead = append(s.taken, s.dead...), nil
	if err := s.client.CommitRecords(ctx, s.taken...); err != nil {
		return fmt.Errorf("commit offsets of group %s: %w", s.config.Group, err)
	}
	return nil
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
	s.client.CloseAllowingRebalance()
	return nil
}
