//! NATS and JetStream between controllers and drivers: how to connect, the names of subjects, streams and buckets, and a
//! local `nats-server` for those who have none.
