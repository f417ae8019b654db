// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// Pause waits, and reports whether ctx still goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Watch hands over what changes under a prefix after a revision, each change once and in order. Where it is cut off, as
// all watches of a member are that has lost its leader, it goes on behind the last revision that it knows to be
// through: of an event, or of the progress that etcd tells while nothing changes. It returns when ctx ends, take says
// an error, or etcd has compacted what comes next.
func Watch(ctx context.Context, client *clientv3.Client, prefix string, rev int64, take func([]*clientv3.Event) error,
	opts ...clientv3.OpOption) error {
	for {
		again, err := watchOnce(ctx, client, prefix, rev, take, opts...)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case again == rev: // it was cut off at once
			if !Pause(ctx, resumeAfter) {
				return ctx.Err()
			}
		}
		rev = again
	}
}

// resumeAfter is how long a watch rests that etcd cut off without a word.
const resumeAfter = 200 * time.Millisecond

func watchOnce(ctx context.Context, client *clientv3.Client, prefix string, rev int64, take func([]*clientv3.Event) error,
	opts ...clientv3.OpOption) (int64, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for r := range client.Watch(ctx, prefix, append([]clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(rev + 1),
		clientv3.WithProgressNotify()}, opts...)...) {
		if r.CompactRevision != 0 {
			return rev, r.Err()
		}
		if r.Err() != nil {
			return rev, nil
		}
		if err := take(r.Events); err != nil {
			return rev, err
		}
		switch n := len(r.Events); {
		case n > 0: // etcd may be further, and have more to tell
			rev = max(rev, r.Events[n-1].Kv.ModRevision)
		case r.IsProgressNotify():
			rev = max(rev, r.Header.Revision)
		}
	}
	return rev, nil
}

// Each reads a prefix whole at one revision; *rev 0 takes the present one. It is read as a stream where it can be:
// for each page etcd counts all that comes behind it, which for n pages is n² steps.
func Each(ctx context.Context, client *clientv3.Client, prefix string, rev *int64, f func(key string, data []byte, mod int64) error) error {
	streaming, cancel := context.WithCancel(ctx)
	stream, err := client.GetStream(streaming, prefix, clientv3.WithPrefix(), clientv3.WithRev(*rev))
	if err != nil { // encrypted values are read page by page
		cancel()
		return EachPage(ctx, client, prefix, rev, f)
	}
	defer func() { // the client waits until what it has read is taken
		cancel()
		for range stream {
		}
	}()
	began := false
	for r := range stream {
		if err := r.Err(); grpcstatus.Code(err) == codes.Unimplemented && !began { // before etcd 3.7
			return EachPage(ctx, client, prefix, rev, f)
		} else if err != nil {
			return fmt.Errorf("reading %s: %w", prefix, err)
		}
		began = true
		for _, kv := range r.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return fmt.Errorf("%s: %w", kv.Key, err)
			}
		}
		if r.Header != nil && *rev == 0 { // the last says at which revision all of them were read
			*rev = r.Header.Revision
		}
	}
	return ctx.Err()
}

// EachPage is Each, page by page.
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

// scanPage is the number of keys that Scan reads at once.
const scanPage = 2000

// Scan hands over what stands under a prefix from a key on, each page as it stands when it is read, until f has taken
// about so many keys as most; 0: all of them. next is the key to go on with, "" at the end of the prefix.
func Scan(ctx context.Context, client *clientv3.Client, prefix, from string, most int, f func(*mvccpb.KeyValue) error,
	opts ...clientv3.OpOption) (next string, err error) {
	key := max(prefix, from)
	opts = append([]clientv3.OpOption{clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(scanPage)}, opts...)
	for read := 0; ; {
		r, err := client.Get(ctx, key, opts...)
		if err != nil {
			return key, fmt.Errorf("reading %s: %w", prefix, err)
		}
		for _, kv := range r.Kvs {
			if err := f(kv); err != nil {
				return key, fmt.Errorf("%s: %w", kv.Key, err)
			}
			key = string(kv.Key) + "\x00"
		}
		if !r.More {
			return "", nil
		}
		if read += len(r.Kvs); most > 0 && read >= most {
			return key, nil
		}
	}
}

// PurgePage is how many keys of a removed zone one transaction deletes. etcd carries out
// nothing else meanwhile: all keys of a large zone at once would stop every tenant's
// writes for seconds.
const PurgePage = 500

// DeletePage deletes the first PurgePage keys from one key to another, and says from which on there may be more. The
// next page begins there, not where this one did: etcd goes through keys that are gone until it has compacted them.
// Where the compares do not hold, nothing is deleted and nothing more is to be.
func DeletePage(ctx context.Context, client *clientv3.Client, from, end string, cmps ...clientv3.Cmp) (next string, more bool, err error) {
	r, err := client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(PurgePage), clientv3.WithKeysOnly())
	if err != nil || len(r.Kvs) == 0 {
		return end, false, err
	}
	next = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	done, err := client.Txn(ctx).If(cmps...).Then(clientv3.OpDelete(from, clientv3.WithRange(next))).Commit()
	if err != nil || !done.Succeeded {
		return from, false, err
	}
	return next, r.More, nil
}
