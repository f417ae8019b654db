// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/alarm"
)

const (
	interval     = 15 * time.Second
	intervalFull = 5 * time.Second
	askTimeout   = 10 * time.Second
	// A defragmentation takes about ten seconds a gigabyte. Meanwhile the member answers nothing.
	defragmentTimeout         = 3 * time.Minute
	minReclaim                = 64 << 20
	defragmentIntervalSeconds = 6 * 3600
	// usualQuota is etcd's default quota, assumed of members before 3.6, which report none.
	usualQuota  = 2 << 30
	keepHistory = time.Minute
	// lockSeconds is longer than defragmentTimeout. While etcd is full, each member has turns of turnSeconds for its
	// defragmentation.
	lockSeconds = 240
	turnSeconds = 15
)

// Keeper prevents an etcd cluster from running out of space. A Keeper checks all members, compacts their history and
// defragments them. Several servers may run a Keeper for the same cluster.
type Keeper struct {
	client *clientv3.Client
	// lockKey is the etcd key that servers lock for a defragmentation, backupKey has the time of the last backup.
	lockKey, backupKey string
	metrics            *Metrics
	// interval is the time between checks, or intervalFull while etcd is full.
	interval, intervalFull time.Duration
	minReclaim             int64
	keepHistory            time.Duration // not compacted, unless etcd is almost full
	// recentRevisions are the revisions of etcd at the last checks, oldest first.
	recentRevisions []revisionAt
	// leastInUse is the smallest use of the database, in octets, since the last compaction.
	leastInUse int64

	quota atomic.Int64 // the smallest of the members; 0 if unknown

	// mutex guards the result of the last check. Without the alarm NOSPACE, full is nil; without CORRUPT, corrupt is
	// nil.
	mutex         sync.Mutex
	full, corrupt error
	state         State
}

type State struct {
	// CheckedAt is zero before the first check.
	CheckedAt time.Time
	Members   []Member
	// LastBackup is zero if unknown.
	LastBackup time.Time
}

type Member struct {
	Endpoint, Version  string
	IsLeader           bool
	Size, InUse, Quota int64 // octets; Quota is 0 if not reported
	Err                error // why the member did not answer
}

// State returns the result of the last check, and whether etcd has raised the alarms NOSPACE and CORRUPT.
func (k *Keeper) State() (state State, full, corrupt bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.state, k.full != nil, k.corrupt != nil
}

func NewKeeper(client *clientv3.Client, prefix string, registry metrics.KubeRegistry) *Keeper {
	return &Keeper{
		client: client, lockKey: prefix + "/maintenance/defragment", backupKey: lastBackupKey(prefix), metrics: NewMetrics(registry),
		interval: interval, intervalFull: intervalFull, minReclaim: minReclaim, keepHistory: keepHistory,
	}
}

// Run maintains etcd until ctx ends. Errors are only logged.
func (k *Keeper) Run(ctx context.Context) error {
	for {
		full, err := k.checkMembers(ctx)
		// Without members, nothing can be read either.
		if err == nil {
			err = k.measureBackup(ctx)
		}
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Looking after etcd")
		}
		pause := k.interval
		if full {
			pause = k.intervalFull
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Checks returns the health checks "etcd-space" and "etcd-corrupt" for /healthz. In /readyz, a failure would take the
// server out of service, although reads go on while etcd is full.
func (k *Keeper) Checks() []healthz.HealthChecker {
	check := func(name string, state *error) healthz.HealthChecker {
		return healthz.NamedCheck(name, func(*http.Request) error {
			k.mutex.Lock()
			defer k.mutex.Unlock()
			return *state
		})
	}
	return []healthz.HealthChecker{check(alarm.Space, &k.full), check(alarm.Corrupt, &k.corrupt)}
}

// Quota returns the size above which etcd rejects writes; 0 if unknown.
func (k *Keeper) Quota() int64 { return k.quota.Load() }

// setCorrupt sets the health check and metric of the alarm CORRUPT, and logs a new alarm once.
func (k *Keeper) setCorrupt(ctx context.Context, members []member) {
	var damaged []string
	for _, m := range members {
		if hasAlarm(m, etcdserverpb.AlarmType_CORRUPT) {
			damaged = append(damaged, m.endpoint)
		}
	}
	var corrupt error
	if k.metrics.corrupt.Set(0); len(damaged) > 0 {
		k.metrics.corrupt.Set(1)
		corrupt = fmt.Errorf("etcd answers nothing: alarm CORRUPT, says %s; one of its members holds other data than the rest: "+
			"find it and replace it (docs/operations.md, Lost member)", strings.Join(damaged, ", "))
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if corrupt != nil && k.corrupt == nil {
		klog.FromContext(ctx).Error(corrupt, "Looking after etcd")
	}
	k.corrupt = corrupt
}

func hasAlarm(m member, kind etcdserverpb.AlarmType) bool {
	return slices.ContainsFunc(m.Errors, func(alarm string) bool { return strings.Contains(alarm, kind.String()) })
}

func (k *Keeper) setFull(full error) (changed bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	changed = (k.full == nil) != (full == nil)
	k.full = full
	return changed
}

type member struct {
	endpoint string
	*clientv3.StatusResponse
}

func (m member) id() uint64 { return m.Header.MemberId }

func (m member) free() int64 { return m.DbSize - m.DbSizeInUse }

func (m member) quota() int64 { return cmp.Or(m.DbSizeQuota, usualQuota) }

// isBelowQuota reports whether a twentieth of the quota is free. With less, a disarmed alarm would soon be raised
// again.
func (m member) isBelowQuota() bool { return m.DbSizeQuota > 0 && m.DbSize <= m.DbSizeQuota/20*19 }

// checkMembers checks all members, and compacts and defragments as far as due. The result full is true while etcd takes
// no writes.
func (k *Keeper) checkMembers(ctx context.Context) (full bool, err error) {
	members, err := k.listMembers(ctx)
	if err != nil {
		return false, err
	}
	k.setCorrupt(ctx, members)
	alarms, err := k.listAlarms(ctx, members)
	if err != nil {
		return false, err
	}
	// Full: free space at once, and look again after intervalFull.
	if len(alarms) > 0 {
		k.metrics.full.Set(1)
		if k.setFull(errors.New("etcd takes no writes: alarm NOSPACE")) {
			klog.FromContext(ctx).Error(nil, "Etcd is full (alarm NOSPACE): nothing can be written, reading goes on. "+
				"It is compacted and defragmented now", "size", members[0].DbSize, "inUse", members[0].DbSizeInUse, "quota",
				members[0].DbSizeQuota)
		}
		return true, k.freeSpace(ctx, alarms)
	}
	k.metrics.full.Set(0)
	if k.setFull(nil) {
		klog.FromContext(ctx).Info("Etcd takes writes again")
	}
	// Each member has the same history, so the numbers of members[0] will do.
	if err := k.compactHistory(ctx, members[0]); err != nil {
		return false, err
	}
	return false, k.defragmentOne(ctx, members)
}

type revisionAt struct {
	revision int64
	time     time.Time
}

// compactHistory compacts etcd if the database grows fast, because the five minutes of history that the API server's
// compactor keeps may then fill the quota.
func (k *Keeper) compactHistory(ctx context.Context, m member) error {
	revision := k.chooseCompaction(m)
	if revision == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, err := k.client.Compact(limited, revision)
	isCompacted := err == nil || errors.Is(err, rpctypes.ErrCompacted)
	if !isCompacted {
		return fmt.Errorf("compacting etcd: %w", err)
	}
	k.leastInUse = m.DbSizeInUse // the next check lowers it
	klog.FromContext(ctx).V(2).Info("Compacted etcd", "revision", revision, "inUse", m.DbSizeInUse, "quota", m.quota())
	return nil
}

// chooseCompaction returns 0 if etcd needs no compaction.
func (k *Keeper) chooseCompaction(m member) (revision int64) {
	now := revisionAt{m.Header.Revision, time.Now()}
	last := len(k.recentRevisions)
	k.recentRevisions = append(k.recentRevisions, now)
	if k.leastInUse == 0 || m.DbSizeInUse < k.leastInUse {
		k.leastInUse = m.DbSizeInUse
	}

	// The first old revisions are at least as old as keepHistory.
	old := 0
	for old < last && now.time.Sub(k.recentRevisions[old].time) >= k.keepHistory {
		old++
	}
	quota, written := m.quota(), m.DbSizeInUse-k.leastInUse
	almostFull := m.DbSizeInUse >= quota/10*7 && written >= quota/64
	growsFast := written >= quota/8
	switch {
	case almostFull && last > 0: // keep the history since the last check
		revision = k.recentRevisions[last-1].revision
	case growsFast && old > 0: // keep the history of keepHistory
		revision = k.recentRevisions[old-1].revision
	}
	k.recentRevisions = k.recentRevisions[max(0, old-1):]
	return revision
}

// listMembers asks all members for their status, and stores it in State and metrics. It returns the members that
// answer, followers first, so that the leader is defragmented last. The error is nil if any member answers.
func (k *Keeper) listMembers(ctx context.Context) ([]member, error) {
	var members []member
	var wrong []error
	quota, state := int64(0), State{CheckedAt: time.Now()}
	for _, endpoint := range k.client.Endpoints() {
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		status, err := k.client.Status(asking, endpoint)
		cancel()
		if err != nil {
			wrong = append(wrong, fmt.Errorf("etcd %s: %w", endpoint, err))
			state.Members = append(state.Members, Member{Endpoint: endpoint, Err: err})
			continue
		}
		state.Members = append(state.Members, Member{Endpoint: endpoint, Version: status.Version,
			IsLeader: leaderRank(member{endpoint, status}) == 1, Size: status.DbSize, InUse: status.DbSizeInUse, Quota: status.DbSizeQuota})
		k.metrics.size.WithLabelValues(endpoint).Set(float64(status.DbSize))
		k.metrics.inUse.WithLabelValues(endpoint).Set(float64(status.DbSizeInUse))
		k.metrics.quota.WithLabelValues(endpoint).Set(float64(status.DbSizeQuota))
		members = append(members, member{endpoint, status})
		// The least quota decides: the member with it raises NOSPACE first.
		if q := status.DbSizeQuota; q > 0 && (quota == 0 || q < quota) {
			quota = q
		}
	}
	if quota > 0 {
		k.quota.Store(quota)
	}
	k.mutex.Lock()
	// measureBackup sets LastBackup separately.
	state.LastBackup = k.state.LastBackup
	k.state = state
	k.mutex.Unlock()
	if len(members) == 0 {
		return nil, errors.Join(wrong...)
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(leaderRank(a), leaderRank(b)) })
	return members, nil
}

func leaderRank(m member) int {
	if m.Leader == m.id() {
		return 1
	}
	return 0
}

// listAlarms returns the IDs of the members with the alarm NOSPACE.
func (k *Keeper) listAlarms(ctx context.Context, members []member) ([]uint64, error) {
	// Even a list of the alarms goes through etcd's raft log, so ask only if the status of a member shows an alarm.
	if !slices.ContainsFunc(members, func(m member) bool { return hasAlarm(m, etcdserverpb.AlarmType_NOSPACE) }) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	list, err := k.client.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("etcd's alarms: %w", err)
	}
	var full []uint64
	for _, alarm := range list.Alarms {
		if alarm.Alarm == etcdserverpb.AlarmType_NOSPACE {
			full = append(full, alarm.MemberID)
		}
	}
	return full, nil
}

// defragmentOne defragments a member that needs it, at most one at a time in the cluster. If another server has the
// lock, it does nothing until the next check.
func (k *Keeper) defragmentOne(ctx context.Context, members []member) error {
	// 1. Find a member that has much free space and was not defragmented recently.
	due := -1
	for i, m := range members {
		// The pause is worth the space if more than half of a large file is free.
		if m.DbSize <= m.quota()/2 || m.free() <= m.DbSize/2 || m.free() < k.minReclaim {
			continue
		}
		if r, err := k.client.Get(ctx, k.doneKey(m)); err != nil {
			return fmt.Errorf("etcd: the last defragmentation: %w", err)
		} else if len(r.Kvs) == 0 {
			due = i
			break
		}
	}
	if due < 0 {
		return nil
	}
	// 2. Lock, because a member does not answer during its defragmentation, and the others must.
	session, err := concurrency.NewSession(k.client, concurrency.WithTTL(lockSeconds), concurrency.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("etcd: a session for the lock of defragmentation: %w", err)
	}
	defer session.Close()
	lock := concurrency.NewMutex(session, k.lockKey)
	if err := lock.TryLock(ctx); err != nil {
		if errors.Is(err, concurrency.ErrLocked) {
			return nil
		}
		return fmt.Errorf("etcd: the lock of defragmentation: %w", err)
	}
	if err := k.handOver(ctx, members[due]); err != nil {
		return err
	}
	// 3. Write the key before the defragmentation, so that a failure is not repeated at once.
	lease, err := k.client.Grant(ctx, defragmentIntervalSeconds)
	if err != nil {
		return fmt.Errorf("etcd: noting a defragmentation: %w", err)
	}
	if _, err := k.client.Put(ctx, k.doneKey(members[due]), "", clientv3.WithLease(lease.ID)); err != nil {
		return fmt.Errorf("etcd: noting a defragmentation: %w", err)
	}
	return k.defragmentMember(ctx, members[due])
}

// doneKey returns the key whose lease expires when the member may be defragmented again.
func (k *Keeper) doneKey(m member) string { return fmt.Sprintf("%s/%x", k.lockKey+"ed", m.id()) }

// handOver moves the raft leadership from m to another member. All writes would wait during a leader's defragmentation.
func (k *Keeper) handOver(ctx context.Context, m member) error {
	if leaderRank(m) == 0 {
		return nil // another member leads
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	list, err := k.client.MemberList(limited)
	if err != nil {
		return fmt.Errorf("etcd's members: %w", err)
	}
	for _, other := range list.Members {
		// A learner has no vote and cannot lead.
		if other.ID == m.id() || other.IsLearner {
			continue
		}
		// Only the leader can hand over, and the client sends each call to the next member.
		for range 2 * len(k.client.Endpoints()) {
			if _, err = k.client.MoveLeader(limited, other.ID); !errors.Is(err, rpctypes.ErrNotLeader) {
				break
			}
		}
		if err == nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("etcd %s leads, and no other member took over before its defragmentation: %w", m.endpoint, err)
	}
	return nil
}

// defragmentMember rewrites a member's file without its free space. Meanwhile the member answers nothing.
func (k *Keeper) defragmentMember(ctx context.Context, m member) error {
	limited, cancel := context.WithTimeout(ctx, defragmentTimeout)
	defer cancel()
	began := time.Now()
	_, err := k.client.Defragment(limited, m.endpoint)
	if err != nil {
		k.metrics.defragmentations.WithLabelValues(m.endpoint, "error").Inc()
		return fmt.Errorf("defragmenting etcd %s: %w", m.endpoint, err)
	}
	k.metrics.defragmentations.WithLabelValues(m.endpoint, "success").Inc()
	klog.FromContext(ctx).Info("Defragmented a member of etcd", "endpoint", m.endpoint, "free", m.free(), "of", m.DbSize,
		"took", time.Since(began).Round(time.Millisecond))
	return nil
}

// freeSpace makes etcd accept writes again after the alarm NOSPACE of the members alarmedIDs. It compacts etcd,
// defragments a member, and disarms the alarms of members below the quota.
func (k *Keeper) freeSpace(ctx context.Context, alarmedIDs []uint64) error {
	limited, cancel := context.WithTimeout(ctx, defragmentTimeout)
	defer cancel()

	// Compact the whole history; the answer to any read has etcd's revision.
	now, err := k.client.Get(limited, k.lockKey)
	if err != nil {
		return fmt.Errorf("etcd: its revision: %w", err)
	}
	if _, err := k.client.Compact(limited, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil &&
		!errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting etcd: %w", err)
	}

	// Defragment a single member at a time, because a member does not answer meanwhile. etcd takes no writes now, so a
	// lock is impossible. Instead, all servers choose the same member by the clock.
	next, err := k.nextMember(limited)
	if err != nil {
		return err
	}
	members, err := k.listMembers(ctx)
	if err != nil {
		return err
	}
	for _, m := range members {
		// A member below the quota needs no pause, and a member with little free space would gain nothing.
		if m.id() != next || m.isBelowQuota() || m.free() < m.DbSize/20 {
			continue
		}
		if err := k.defragmentMember(ctx, m); err != nil {
			return err
		}
	}

	// Disarm the alarms by the new sizes. A member whose turn is later keeps the alarm until then.
	if members, err = k.listMembers(ctx); err != nil {
		return err
	}
	var wrong []error
	for _, m := range members {
		switch {
		case !slices.Contains(alarmedIDs, m.id()):
		case m.isBelowQuota():
			_, err := k.client.AlarmDisarm(limited, &clientv3.AlarmMember{MemberID: m.id(), Alarm: etcdserverpb.AlarmType_NOSPACE})
			if err != nil {
				wrong = append(wrong, fmt.Errorf("taking back the alarm of etcd %s: %w", m.endpoint, err))
			}
		case m.DbSizeQuota == 0:
			wrong = append(wrong, fmt.Errorf("etcd %s does not report its quota (before 3.6): disarm its alarm with etcdctl alarm "+
				"disarm when there is space", m.endpoint))
		case m.id() == next:
			wrong = append(wrong, fmt.Errorf("etcd %s: live data exceeds the quota: "+
				"%d of %d octets after compaction and defragmentation; raise its quota (docs/operations.md, NOSPACE)", m.endpoint, m.DbSize,
				m.DbSizeQuota))
		}
	}
	return errors.Join(wrong...)
}

// nextMember returns the ID of the member whose turn it is, the same for all servers with the same clock.
func (k *Keeper) nextMember(ctx context.Context) (uint64, error) {
	list, err := k.client.MemberList(ctx)
	if err != nil {
		return 0, fmt.Errorf("etcd's members: %w", err)
	}
	ids := make([]uint64, 0, len(list.Members))
	for _, m := range list.Members {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids[time.Now().Unix()/turnSeconds%int64(len(ids))], nil
}
