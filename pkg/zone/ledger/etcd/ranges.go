// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// Pause waits for d, and returns false if ctx ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Watch passes the changes under a prefix after revision rev to handle, each once and in order, and resumes if etcd
// ends the watch. It returns an error when ctx ends, handle fails, etcd has compacted the next revision, or the next
// event cannot be had. The caller then reads the present again, and watches from there.
func Watch(ctx context.Context, client *clientv3.Client, prefix string, rev int64, handle func([]*clientv3.Event) error,
	opts ...clientv3.OpOption) error {
	for refused := 0; ctx.Err() == nil; {
		reached, err := watchOnce(ctx, client, prefix, rev, handle, opts...)
		if reached > rev {
			refused = 0
		}
		// A value that does not decrypt ends each watch at its revision, until etcd compacts the revision.
		if isRefusal := errors.As(err, new(refusedError)); isRefusal && refused < maxRefused {
			refused++
		} else if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		// An etcd member without leader ends a watch at once, so do not ask again at once.
		if reached == rev {
			Pause(ctx, resumeAfter)
		}
		rev = reached
	}
	return ctx.Err()
}

const (
	resumeAfter = 200 * time.Millisecond
	// maxRefused bounds the refusals at a revision, beyond the first. A failed read of etcd refuses a watch too, but
	// hardly for so long.
	maxRefused = 5
)

// refusedError is the reason for which a client's decorator (decryption, or numbering of versions) ended a watch. Etcd
// itself ends a watch without such a reason.
type refusedError struct{ error }

// watchOnce watches until the watch ends, and returns the last revision of which all events were taken. An error is
// final, such as a failed take or a compacted revision, except for a refusedError.
func watchOnce(ctx context.Context, client *clientv3.Client, prefix string, rev int64, take func([]*clientv3.Event) error,
	opts ...clientv3.OpOption) (int64, error) {
	// A member cut off from its leader must end the watch, rather than stay silent.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for r := range client.Watch(ctx, prefix, append([]clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(rev + 1),
		clientv3.WithProgressNotify()}, opts...)...) {
		if r.CompactRevision != 0 {
			return rev, r.Err()
		}
		if r.CancelReason != "" {
			return rev, refusedError{r.Err()}
		}
		// Watch resumes after any other end.
		if r.Err() != nil {
			return rev, nil
		}
		if err := take(r.Events); err != nil {
			return rev, err
		}

		switch n := len(r.Events); {
		case n > 0: // the header's revision may be ahead of events yet to come
			rev = max(rev, r.Events[n-1].Kv.ModRevision)
		// A progress notification lets a quiet prefix resume after a compaction.
		case r.IsProgressNotify():
			rev = max(rev, r.Header.Revision)
		}
	}

	return rev, nil
}

// Each passes each key under a prefix at revision *rev to visit, until visit fails. If *rev is 0, Each sets *rev to the
// current revision. From etcd 3.7 on, Each reads a stream, because for each page etcd would count all later keys.
func Each(ctx context.Context, client *clientv3.Client, prefix string, rev *int64,
	visit func(key string, data []byte, mod int64) error) error {
	streaming, cancel := context.WithCancel(ctx)
	stream, err := client.GetStream(streaming, prefix, clientv3.WithPrefix(), clientv3.WithRev(*rev))
	if err != nil { // for example in an encrypted store
		cancel()
		return EachPage(ctx, client, prefix, rev, visit)
	}

	defer func() { // the client blocks until its responses are drained
		cancel()
		for range stream {
		}
	}()

	began := false
	for r := range stream {
		err := r.Err()
		isTooOld := !began && grpcstatus.Code(err) == codes.Unimplemented
		if isTooOld {
			return EachPage(ctx, client, prefix, rev, visit)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", prefix, err)
		}

		began = true
		for _, kv := range r.Kvs {
			if err := visit(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
		}

		// Later reads of the caller then see the same revision.
		if r.Header != nil && *rev == 0 { // the last response has a header
			*rev = r.Header.Revision
		}
	}

	return ctx.Err()
}

// EachPage is like Each, in pages. Each page is read at the revision of the first.
func EachPage(ctx context.Context, client *clientv3.Client, prefix string, rev *int64, f func(key string, data []byte,
	mod int64) error) error {
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		r, err := client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(*rev))
		if err != nil {
			return fmt.Errorf("reading %s: %w", prefix, err)
		}
		if *rev == 0 {
			*rev = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
		}
		if !r.More {
			return nil
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

const scanPage = 2000

// Scan passes the keys under a prefix from startKey on to visit, in pages of the present revision. It stops after the
// page that reaches the limit of keys, or never for a limit of 0. It returns the key to continue at, or "" at the end.
func Scan(ctx context.Context, client *clientv3.Client, prefix, startKey string, limit int, visit func(*mvccpb.KeyValue) error,
	opts ...clientv3.OpOption) (next string, err error) {
	key := max(prefix, startKey)
	opts = append([]clientv3.OpOption{clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(scanPage)}, opts...)
	for read := 0; ; {
		// Without a revision, a key put behind the current page is visited, too.
		r, err := client.Get(ctx, key, opts...)
		if err != nil {
			return key, fmt.Errorf("reading %s: %w", prefix, err)
		}

		for _, kv := range r.Kvs {
			if err := visit(kv); err != nil {
				return key, fmt.Errorf("%s: %w", kv.Key, err)
			}
			key = string(kv.Key) + "\x00"
		}

		if !r.More {
			return "", nil
		}
		// The rest of a page may exceed the limit.
		if read += len(r.Kvs); limit > 0 && read >= limit {
			return key, nil
		}
	}
}

// PurgePage bounds a transaction's deletions, because etcd executes transactions serially, and a large zone would stop
// all writes for seconds.
const PurgePage = 500

// DeletePage deletes up to PurgePage keys in the range [from, end) if all cmps hold. If it returns true, the caller
// continues at the returned key, because a range from the old start would pass all deleted keys. It returns false at
// the end, or if a compare failed.
func DeletePage(ctx context.Context, client *clientv3.Client, from, end string, cmps ...clientv3.Cmp) (next string, more bool, err error) {
	r, err := client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(PurgePage), clientv3.WithKeysOnly())
	if err != nil || len(r.Kvs) == 0 {
		return end, false, err
	}

	// The deleted range ends at the last key read. A key put into the range meanwhile goes, too.
	next = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	done, err := client.Txn(ctx).If(cmps...).Then(clientv3.OpDelete(from, clientv3.WithRange(next))).Commit()
	if err != nil || !done.Succeeded {
		return from, false, err
	}
	return next, r.More, nil
}
