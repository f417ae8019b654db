// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Replace replaces a member that lost its data by an empty member of the same name, and returns when the new member has
// a vote. It works through a running member, whose data directory is dataDir. Replace calls report when the new member
// may be started, and can be repeated after an error.
//
// Until the new member has all data, it is a learner, without a vote, so that writes do not wait for it.
func Replace(ctx context.Context, dataDir, member, initialCluster string, report func(line string)) error {
	endpoint, running := RunningEndpoint(dataDir)
	if !running {
		return fmt.Errorf("--data-dir %s: no etcd runs there; name the directory of a member that does", dataDir)
	}

	// The cluster is changed through the running member of dataDir, which must not be the lost member.
	switch here, err := (&Dir{path: dataDir}).readMember(); {
	case err != nil:
		return err
	case here == "":
		return fmt.Errorf("--data-dir %s: its etcd is a single member; for three members, "+
			"restore a backup of it as the first of them (kubizone restore --etcd-member-name)", dataDir)
	case here == member:
		return fmt.Errorf("--data-dir %s is that of member %s itself, which runs; run this on another member, and only when %s is lost",
			dataDir, member, member)
	}

	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("--data-dir %s: %w", dataDir, err)
	}
	defer client.Close()

	members, err := types.NewURLsMap(initialCluster)
	if err != nil {
		return fmt.Errorf("--etcd-initial-cluster %q: %w", initialCluster, err)
	}
	urls := members[member].StringSlice()
	if len(urls) == 0 {
		return fmt.Errorf("member %s: --etcd-initial-cluster does not name it", member)
	}

	// Remove the lost member, and add the new. etcd refuses this until enough members have been connected for five
	// seconds, so try again.
	var id uint64
	for {
		id, err = replaceMember(ctx, client, member, urls)
		if err == nil {
			break
		}
		if !errors.Is(err, rpctypes.ErrUnhealthy) || !pause(ctx) {
			return fmt.Errorf("member %s: %w", member, err)
		}
	}

	report(fmt.Sprintf("member %s (%x) may start now, on an empty directory; waiting until it has everything", member, id))
	return promoteLearner(ctx, client, member, id)
}

// promoteLearner waits until the learner has caught up, and gives it a vote. A member that already votes is no error.
func promoteLearner(ctx context.Context, client *clientv3.Client, member string, id uint64) error {
	for {
		_, err := client.MemberPromote(ctx, id)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, rpctypes.ErrMemberNotLearner):
			return nil
		case !errors.Is(err, rpctypes.ErrMemberLearnerNotReady):
			return fmt.Errorf("member %s: giving it a vote: %w", member, err)
		}
		// The learner is not started, or still receives data.
		if !pause(ctx) {
			return fmt.Errorf("member %s has not arrived: %w; run this again when it starts", member, context.Cause(ctx))
		}
	}
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
		return true
	}
}

// replaceMember removes the lost member and adds an empty learner with its peer URL. It returns the learner's ID. After
// an interrupted call it goes on where that ended.
func replaceMember(ctx context.Context, client *clientv3.Client, member string, urls []string) (uint64, error) {
	list, err := client.MemberList(ctx)
	if err != nil {
		return 0, fmt.Errorf("asking for the members: %w", err)
	}
	// A learner that never started has no name, but the URL.
	at := slices.IndexFunc(list.Members, func(m *etcdserverpb.Member) bool { return m.Name == member || slices.Equal(m.PeerURLs, urls) })
	if at >= 0 {
		old := list.Members[at]
		if old.Name == "" || old.IsLearner {
			return old.ID, nil // replaced by an earlier call
		}
		if _, err := client.MemberRemove(ctx, old.ID); err != nil {
			return 0, fmt.Errorf("taking the old one out: %w", err)
		}
	}
	added, err := client.MemberAddAsLearner(ctx, urls)
	if err != nil {
		return 0, fmt.Errorf("letting it in: %w", err)
	}
	return added.Member.ID, nil
}
