// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Probe asks etcd for a transaction of the kind that every write is: several comparisons and several operations, of
// which none writes here (M3). Stores that speak etcd's protocol for Kubernetes alone, kine among them, refuse it.
// And it refuses a store that was restored as it was (M6), for which the first server writes one key (Began).
func Probe(ctx context.Context, client *clientv3.Client, prefix string) error {
	one, other := prefix+"/probe/one", prefix+"/probe/other"
	_, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(one), "=", 0), clientv3.Compare(clientv3.CreateRevision(other), "=", 0)).
		Then(clientv3.OpGet(one), clientv3.OpGet(other)).
		Else(clientv3.OpGet(one), clientv3.OpGet(other)).
		Commit()
	switch status.Code(err) {
	case codes.OK:
		return refuseRestored(ctx, client, prefix)
	case codes.Unknown, codes.InvalidArgument, codes.Unimplemented:
		if ctx.Err() == nil {
			return fmt.Errorf("etcd %v does not carry out transactions of several comparisons and operations (%w), "+
				"so it cannot keep a zone and its records together; is it kine, or another store that only speaks etcd's protocol? give "+
				"--etcd-servers of a real etcd, or --etcd-data-dir", client.Endpoints(), err)
		}
	}
	return fmt.Errorf("etcd %v: %w", client.Endpoints(), err)
}
