// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// readInside reads objects at a version inside a revision, for further pages of a list and the watch cache's check: the
// state before the revision, with the writes up to the version.
func (k *kv) readInside(ctx context.Context, op clientv3.Op) (*clientv3.GetResponse, error) {
	// 1. Read the writes of the revision up to the version.
	touched, inOneResource := k.m.resourcesIn(spanOf(op))
	if !inOneResource || op.IsSortSet() {
		return nil, fmt.Errorf("%s: a read at a version inside a revision is of one resource, in the order of its keys", op.KeyBytes())
	}
	writes, err := k.readWrites(ctx, k.m.resources[touched[0]], op.Rev())
	if err != nil {
		return nil, err
	}
	asked := spanOf(op)
	writes = slices.DeleteFunc(writes, func(e *clientv3.Event) bool { return !asked.contains(string(e.Kv.Key)) })

	// 2. Read the state before the revision.
	revision, _ := Split(op.Rev())
	limit := op.Limit()
	clientv3.WithRev(Version(revision-1, Last))(&op)
	if limit > 0 {
		clientv3.WithLimit(limit + int64(len(writes)))(&op) // for deletions from the page
	}
	answer, err := k.Do(ctx, op)
	if err != nil {
		return nil, err
	}
	r := answer.Get()
	lastKey := ""
	if len(r.Kvs) > 0 {
		lastKey = string(r.Kvs[len(r.Kvs)-1].Key)
	}

	// 3. Apply the writes to the page.
	for _, e := range writes {
		if op.IsKeysOnly() {
			e.Kv.Value = nil
		}
		isOnPage := !r.More || string(e.Kv.Key) <= lastKey // or on a later page
		isShown := isOnPage && !op.IsCountOnly()
		applyWrite(r, e, isShown)
	}

	// 4. Cut the page to the limit, as creations may have been added.
	if limit > 0 && int64(len(r.Kvs)) > limit {
		r.Kvs, r.More = r.Kvs[:limit], true
	}
	return r, nil
}

// applyWrite changes a read of the state before a revision by a write of the revision. A creation is inserted only if
// shown is true, and counts in any case.
func applyWrite(r *clientv3.GetResponse, e *clientv3.Event, shown bool) {
	i, found := slices.BinarySearchFunc(r.Kvs, e.Kv.Key, func(kv *mvccpb.KeyValue, key []byte) int { return bytes.Compare(kv.Key, key) })
	switch {
	case e.Type == mvccpb.Event_DELETE:
		if r.Count--; found {
			// A key on another page is not in r.Kvs, and counts nevertheless.
			r.Kvs = slices.Delete(r.Kvs, i, i+1)
		}
	case !e.IsCreate():
		if found {
			r.Kvs[i] = e.Kv
		}
	default:
		if r.Count++; shown {
			r.Kvs = slices.Insert(r.Kvs, i, e.Kv)
		}
	}
}

var streams atomic.Int64

var errWatchClosed = errors.New("the watch of a revision was closed; read again")

// readWrites returns the writes of a version's revision in a resource, up to the version, in order. The error of a
// compacted revision is etcd's.
func (k *kv) readWrites(ctx context.Context, resource string, version int64) ([]*clientv3.Event, error) {
	revision, _ := Split(version)

	// A watch from a future revision would wait. This read fails if the revision is compacted.
	if _, err := k.KV.Get(ctx, resource, clientv3.WithRev(revision), clientv3.WithCountOnly()); err != nil {
		return nil, err
	}

	// The watch has its own stream, because progress goes to all watches of a stream.
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "kubizone-read",
		strconv.FormatInt(streams.Add(1), 10)))
	defer cancel()
	in := k.watcher.Watch(ctx, resource, clientv3.WithPrefix(), clientv3.WithRev(Version(revision, 0)))

	// etcd sends progress once the watch has caught up. Then no further write up to the version exists.
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	var out []*clientv3.Event
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ask.C:
			if err := k.watcher.RequestProgress(ctx); err != nil {
				return nil, err
			}
		case r, ok := <-in:
			if !ok {
				return nil, cmp.Or(ctx.Err(), errWatchClosed)
			}
			if err := r.Err(); err != nil {
				return nil, err
			}
			// The watch begins with the revision's first write. A write at or after the version ends the read.
			for _, e := range r.Events {
				if e.Kv.ModRevision <= version {
					out = append(out, e)
				}
				if e.Kv.ModRevision >= version {
					return out, nil
				}
			}
			if r.IsProgressNotify() && r.Header.GetRevision() > version {
				return out, nil
			}
		}
	}
}
