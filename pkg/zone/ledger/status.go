// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/commit"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
)

const (
	// statusesAtOnce is etcd's default limit of operations in a transaction.
	statusesAtOnce = 128
	// statusPause bounds the pause for clients' writes after a transaction.
	statusPause   = 20 * time.Millisecond
	resignTimeout = time.Second
	// leaseSeconds is the time until another server replaces a dead leader.
	leaseSeconds = 5
)

// RunElected waits until this server is elected among the servers of the store, and calls run. It returns when run
// returns. If the server's lease in etcd ends, RunElected cancels the context of run and returns an error. For a
// moment, two servers may be elected.
func (l *Ledger) RunElected(ctx context.Context, run func(ctx context.Context)) error {
	// The session outlives ctx by up to resignTimeout to revoke the lease, so another server is elected at once.
	beyond, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(resignTimeout, end) })()
	// Take part in the election.
	client := clientv3.NewCtxClient(beyond)
	client.KV, client.Lease, client.Watcher = l.config.Client.KV, l.config.Client.Lease, l.config.Client.Watcher
	session, err := concurrency.NewSession(client, concurrency.WithTTL(leaseSeconds), concurrency.WithContext(beyond))
	if err != nil || session == nil { // without an error: etcd ended the lease at once
		return cmp.Or(err, errLeaseEnded)
	}

	defer session.Close()
	if err := concurrency.NewMutex(session, l.mem.Layout.LeaderLock()).Lock(ctx); err != nil {
		return err
	}

	// Elected. run must end before the lease is given up, so that two servers seldom write.
	leading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(leading)
	}()

	select {
	case <-session.Done():
		err = errLeaseEnded
	case <-ended:
	}

	stop()
	<-ended
	return err
}

var errLeaseEnded = errors.New("the lease in etcd has ended")

// Members returns a page of a zone's Records, about as many as the limit, ordered by owner, and the next cursor. The
// cursor is "" for the first page and at the end.
func (l *Ledger) Members(ctx context.Context, zoneUID, cursor string, limit int) (members []law.Ref, next string, err error) {
	prefix := l.mem.Layout.Room("members") + zoneUID + "/"
	next, err = etcd.Scan(ctx, l.mem.Client, prefix, cursor, limit, func(kv *mvccpb.KeyValue) error {
		_, _, namespace, object, err := l.mem.Layout.ParseMember(string(kv.Key))
		members = append(members, law.Ref{Namespace: namespace, Name: object})
		return err
	}, clientv3.WithKeysOnly())
	return members, next, err
}

func (l *Ledger) MembersAt(ctx context.Context, zoneUID string, owner name.Rel) (members []law.Ref, err error) {
	prefix := strings.TrimSuffix(l.mem.Layout.Key(law.MemberKey(zoneUID, owner, "", "")), "/")
	_, err = etcd.Scan(ctx, l.mem.Client, prefix, "", 0, func(kv *mvccpb.KeyValue) error {
		_, _, namespace, object, err := l.mem.Layout.ParseMember(string(kv.Key))
		members = append(members, law.Ref{Namespace: namespace, Name: object})
		return err
	}, clientv3.WithKeysOnly())
	return members, err
}

// ChangeRecords calls edit for each named Record of a namespace, and writes the Record if edit returns true, unless
// others have written it meanwhile. The namespace is charged. After an error, the number of changed Records may be too
// low.
func (l *Ledger) ChangeRecords(ctx context.Context, namespace string, names []string, edit func(*v1alpha1.Record) bool) (changed int,
	err error) {
	for len(names) > 0 {
		page := names[:min(len(names), statusesAtOnce)]
		names = names[len(page):]
		began, clients := time.Now(), l.com.Clients.Load()
		n, err := l.changePage(ctx, namespace, page, edit)
		if changed += n; err != nil {
			return changed, err
		}
		if l.com.Clients.Load() != clients {
			etcd.Pause(ctx, min(time.Since(began), statusPause))
		}
	}
	return changed, ctx.Err()
}

// changePage is ChangeRecords for at most statusesAtOnce Records, in a single read and, unless they are long, a single
// write.
func (l *Ledger) changePage(ctx context.Context, namespace string, names []string, edit func(*v1alpha1.Record) bool) (changed int,
	err error) {
	// Read.
	reads := make([]clientv3.Op, len(names))
	for i, name := range names {
		reads[i] = clientv3.OpGet(l.mem.Layout.Record(namespace, name))
	}
	r, err := l.mem.Client.Txn(ctx).Then(reads...).Commit()
	if err != nil {
		return 0, fmt.Errorf("reading Records to set their conditions: %w", err)
	}

	// Change, and write when the next Record would make the transaction too long.
	ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1})
	var puts []statusPut
	octets := 0
	for i := range names {
		kv := etcd.FirstKV(r.Responses[i])
		if kv == nil {
			// The Record was deleted meanwhile.
			continue
		}
		data, err := l.changeRecord(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("object", namespace+"/"+names[i])), kv, edit)
		if err != nil {
			return changed, err
		}
		if data == nil {
			continue
		}

		if octets+len(data) > commit.MaxBatchOctets && len(puts) > 0 {
			n, err := l.putStatuses(ctx, puts)
			if changed += n; err != nil {
				return changed, err
			}
			puts, octets = nil, 0
		}

		puts, octets = append(puts, statusPut{string(kv.Key), kv.ModRevision, data}), octets+len(data)
	}

	n, err := l.putStatuses(ctx, puts)
	return changed + n, err
}

// changeRecord returns the stored form of a Record after edit, or nil if edit changes nothing, panics, or the Record is
// unreadable.
func (l *Ledger) changeRecord(ctx context.Context, kv *mvccpb.KeyValue, edit func(*v1alpha1.Record) bool) (data []byte, err error) {
	var fault error // Recover logs it
	defer l.com.Recover(ctx, nil, &fault)
	record := &v1alpha1.Record{}
	if err := l.mem.Records.Decode(ctx, string(kv.Key), kv.Value, kv.ModRevision, record); err != nil {
		klog.FromContext(ctx).Error(err, "an unreadable object keeps its conditions; run kubizone fsck")
		return nil, nil
	}
	if !edit(record) {
		return nil, nil
	}
	return l.mem.Records.Encode(ctx, string(kv.Key), record)
}

type statusPut struct {
	key      string
	expected int64
	data     []byte
}

// putStatuses writes Records that are as read, in a single transaction, and returns how many. Records that others have
// written meanwhile are left out.
func (l *Ledger) putStatuses(ctx context.Context, puts []statusPut) (written int, err error) {
	for len(puts) > 0 {
		l.mem.Fault("confirm")
		var cmps []clientv3.Cmp
		var then, reads []clientv3.Op
		for _, put := range puts {
			cmps = append(cmps, etcd.RevisionIs(put.key, put.expected))
			then, reads = append(then, etcd.OpPut(put.key, put.data)), append(reads, clientv3.OpGet(put.key, clientv3.WithKeysOnly()))
		}

		r, err := l.mem.Client.Txn(ctx).If(cmps...).Then(then...).Else(reads...).Commit()
		if err != nil {
			return 0, fmt.Errorf("writing conditions: %w", err)
		}
		if r.Succeeded {
			return len(puts), nil
		}

		var unmoved []statusPut
		for i, put := range puts {
			if kv := etcd.FirstKV(r.Responses[i]); kv != nil && kv.ModRevision == put.expected {
				// As read. A Record that others have written has another version, and is left out.
				unmoved = append(unmoved, put)
			}
		}

		puts = unmoved
	}

	return 0, nil
}
