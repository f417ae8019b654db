// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// Probe returns an error if Kubizone cannot use this etcd. Either transactions of several compares and operations are
// unsupported, as in kine, or the store was restored with its old revision, and clients would see revisions twice.
func Probe(ctx context.Context, client *clientv3.Client, prefix string) error {
	// The transaction only reads, because its compares and operations are the test.
	one, other := prefix+"/probe/one", prefix+"/probe/other"
	_, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(one), "=", 0), clientv3.Compare(clientv3.CreateRevision(other), "=", 0)).
		Then(clientv3.OpGet(one), clientv3.OpGet(other)).
		Else(clientv3.OpGet(one), clientv3.OpGet(other)).
		Commit()
	switch status.Code(err) {
	case codes.OK:
		return refuseRestored(ctx, client, prefix)
	// The store has answered and refused. Other codes mean a fault of the network or of etcd.
	case codes.Unknown, codes.InvalidArgument, codes.Unimplemented:
		if ctx.Err() == nil {
			return fmt.Errorf("etcd %v does not carry out transactions of several comparisons and operations (%w), "+
				"so it cannot keep a zone and its records together; is it kine, or another store that only speaks etcd's protocol? give "+
				"--etcd-servers of a real etcd, or --etcd-data-dir", client.Endpoints(), err)
		}
	}
	return fmt.Errorf("etcd %v: %w", client.Endpoints(), err)
}

const (
	catchUp   = 5 * time.Second
	lookAgain = 200 * time.Millisecond
)

// BeganKey returns the key at which the first start of a server stores etcd's revision minus its raft index. Package
// backup deletes the key in a restored store.
func BeganKey(prefix string) string { return prefix + "/maintenance/began" }

// refuseRestored returns an error if the store was restored with its old revision. Each revision takes an entry of
// the raft log, so revision minus raft index never grows, except in a restored store, whose log is new. A copied data
// directory has its log, and is not detected.
func refuseRestored(ctx context.Context, client *clientv3.Client, prefix string) error {
	r, err := client.Get(ctx, BeganKey(prefix))
	if err != nil {
		return fmt.Errorf("etcd %v: %w", client.Endpoints(), err)
	}
	began := int64(0)
	if len(r.Kvs) > 0 {
		if began, err = strconv.ParseInt(string(r.Kvs[0].Value), 10, 64); err != nil {
			return fmt.Errorf("%s does not parse: %w", BeganKey(prefix), err)
		}
	}

	// A member may lag behind, so look again for catchUp before a verdict.
	for until := time.Now().Add(catchUp); ; {
		least, most, err := revisionAhead(ctx, client)
		switch {
		case err != nil:
			klog.FromContext(ctx).Info("Whether etcd was restored is not known", "why", err.Error())
			return nil
		case len(r.Kvs) == 0:
			// The first start of a server stores the difference. If etcd is full, a later start does.
			_, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(BeganKey(prefix)), "=", 0)).
				Then(clientv3.OpPut(BeganKey(prefix), strconv.FormatInt(max(0, most), 10))).Commit()
			if err != nil {
				klog.FromContext(ctx).Error(err, "Writing where etcd's log begins", "key", BeganKey(prefix))
			}
			return nil
		case least <= began:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("etcd %v was restored from a snapshot as it was: its revision is %d ahead of its log, "+
				"%d at most in the store that was saved. "+
				"Clients and secondaries may have seen what came after, and would keep it, or get its revisions and serials a second "+
				"time with other content. "+
				"Take what is there with kubizone backup and put it back with kubizone restore, which raises both (docs/operations.md, "+
				"Restore)",
				client.Endpoints(), least, began)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookAgain):
		}
	}
}

// revisionAhead returns bounds of revision minus raft index, by two status requests, because writes go on meanwhile.
func revisionAhead(ctx context.Context, client *clientv3.Client) (least, most int64, err error) {
	var wrong []error
	for _, endpoint := range client.Endpoints() {
		var seen [2]*clientv3.StatusResponse
		// Writes between the two answers make the difference uncertain. The bounds allow for them.
		for i := range seen {
			asking, cancel := context.WithTimeout(ctx, askTimeout)
			seen[i], err = client.Status(asking, endpoint)
			cancel()
			if err == nil && seen[i].RaftIndex == 0 {
				err = errors.New("it reports nothing of its log")
			}
			if err != nil {
				break
			}
		}
		if err == nil {
			return seen[0].Header.Revision - int64(seen[1].RaftIndex), seen[1].Header.Revision - int64(seen[0].RaftIndex), nil
		}
		wrong = append(wrong, fmt.Errorf("etcd %s: %w", endpoint, err))
	}
	return 0, 0, errors.Join(wrong...)
}
