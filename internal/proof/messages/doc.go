// Package messages checks that each message of a broker becomes one task, and none is lost,
// while the processes that take the messages in are killed or exit between commit and
// acknowledgement, and while broker and database restart, also at once. Where messages are versions of
// references, the newest of each is the last that takes effect, although consumers and workers are killed.
//
// It has tests only. Consumers and workers are processes of the test binary; RabbitMQ and NATS are
// servers that the tests start, and Kafka is kfake, in a process of its own.
package messages
