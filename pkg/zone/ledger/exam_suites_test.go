// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
)

// suite is a storage test of Kubernetes. where selects the storages on which it runs.
type suite struct {
	name  string
	where int
	run   func(ctx context.Context, t *testing.T, e *exam, cached bool)
}

const (
	both = iota
	rawOnly
)

// plain returns a suite that needs only the storage.
func plain(name string, where int, f func(context.Context, *testing.T, storage.Interface)) suite {
	return suite{name, where, func(ctx context.Context, t *testing.T, e *exam, _ bool) { f(ctx, t, e.Interface) }}
}

func uncounted(*testing.T, uint64, uint64) {}

var suites = []suite{
	plain("CreateWithTTL", both, storagetesting.RunTestCreateWithTTL),
	plain("CreateWithKeyExist", both, storagetesting.RunTestCreateWithKeyExist),
	plain("Get", both, storagetesting.RunTestGet),
	plain("UnconditionalDelete", both, storagetesting.RunTestUnconditionalDelete),
	plain("ConditionalDelete", both, storagetesting.RunTestConditionalDelete),
	plain("DeleteWithSuggestion", both, storagetesting.RunTestDeleteWithSuggestion),
	plain("DeleteWithSuggestionAndConflict", both, storagetesting.RunTestDeleteWithSuggestionAndConflict),
	plain("DeleteWithConflict", both, storagetesting.RunTestDeleteWithConflict),
	plain("DeleteWithSuggestionOfDeletedObject", both, storagetesting.RunTestDeleteWithSuggestionOfDeletedObject),
	plain("ValidateDeletionWithSuggestion", both, storagetesting.RunTestValidateDeletionWithSuggestion),
	plain("ValidateDeletionWithOnlySuggestionValid", both, storagetesting.RunTestValidateDeletionWithOnlySuggestionValid),
	plain("PreconditionalDeleteWithSuggestion", both, storagetesting.RunTestPreconditionalDeleteWithSuggestion),
	plain("PreconditionalDeleteWithOnlySuggestionPass", both, storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass),
	plain("GetListRecursivePrefix", both, storagetesting.RunTestGetListRecursivePrefix),
	plain("ListPaging", both, storagetesting.RunTestListPaging),
	plain("NamespaceScopedList", both, storagetesting.RunTestNamespaceScopedList),
	plain("GuaranteedUpdateWithTTL", both, storagetesting.RunTestGuaranteedUpdateWithTTL),
	plain("GuaranteedUpdateWithConflict", both, storagetesting.RunTestGuaranteedUpdateWithConflict),
	plain("GuaranteedUpdateWithSuggestionAndConflict", both, storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict),
	plain("Watch", both, storagetesting.RunTestWatch),
	plain("DeleteTriggerWatch", both, storagetesting.RunTestDeleteTriggerWatch),
	plain("WatchFromNonZero", both, storagetesting.RunTestWatchFromNonZero),
	// The watch cache closes a watcher that gets no CPU for a tenth of a second, and the suite then reports lost
	// events. Other tests cover our part, the pace of package subrev.
	plain("DelayedWatchDelivery", rawOnly, storagetesting.RunTestDelayedWatchDelivery),
	plain("WatchContextCancel", both, storagetesting.RunTestWatchContextCancel),
	plain("WatchDeleteEventObjectHaveLatestRV", both, storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV),
	plain("WatchInitializationSignal", both, storagetesting.RunTestWatchInitializationSignal),
	plain("ClusterScopedWatch", both, storagetesting.RunTestClusterScopedWatch),
	plain("NamespaceScopedWatch", both, storagetesting.RunTestNamespaceScopedWatch),
	plain("SendInitialEventsBackwardCompatibility", both, storagetesting.RunSendInitialEventsBackwardCompatibility),
	plain("WatchSemantics", both, storagetesting.RunWatchSemantics),
	plain("WatchSemanticInitialEventsExtended", both, storagetesting.RunWatchSemanticInitialEventsExtended),
	plain("WatchListMatchSingle", both, storagetesting.RunWatchListMatchSingle),
	plain("WatcherTimeout", rawOnly, storagetesting.RunTestWatcherTimeout),
	{"Create", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestCreate(ctx, t, e.Interface, e.stored)
	}},
	{"List", both, func(ctx context.Context, t *testing.T, e *exam, cached bool) {
		storagetesting.RunTestList(ctx, t, e.Interface, e.compact, cached, e.client.Kubernetes.(*storagetesting.KubernetesRecorder))
	}},
	{"ConsistentList", both, func(ctx context.Context, t *testing.T, e *exam, cached bool) {
		storagetesting.RunTestConsistentList(ctx, t, e.Interface, e.increase, cached, true, cached)
	}},
	{"GetListNonRecursive", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestGetListNonRecursive(ctx, t, e.increase, e.Interface)
	}},
	{"ListContinuation", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestListContinuation(ctx, t, e.Interface, uncounted)
	}},
	{"ListPaginationRareObject", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestListPaginationRareObject(ctx, t, e.Interface, uncounted)
	}},
	{"ListContinuationWithFilter", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestListContinuationWithFilter(ctx, t, e.Interface, uncounted)
	}},
	{"CompactRevision", both, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestCompactRevision(ctx, t, e.Interface, e.increase, e.compact)
	}},
	{"ProgressNotify", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunOptionalTestProgressNotify(ctx, t, e.Interface, e.increase)
	}},
	{"GuaranteedUpdate", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestGuaranteedUpdate(ctx, t, e, e.stored)
	}},
	{"GuaranteedUpdateChecksStoredData", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestGuaranteedUpdateChecksStoredData(ctx, t, e)
	}},
	{"TransformationFailure", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestTransformationFailure(ctx, t, e)
	}},
	{"ListInconsistentContinuation", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestListInconsistentContinuation(ctx, t, e.Interface, e.compact)
	}},
	{"ListResourceVersionMatch", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestListResourceVersionMatch(ctx, t, e)
	}},
	{"WatchFromZero", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestWatchFromZero(ctx, t, e.Interface, e.compact)
	}},
	{"WatchError", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestWatchError(ctx, t, e)
	}},
	{"WatchErrorIsBlockingFurtherEvents", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunWatchErrorIsBlockingFurtherEvents(ctx, t, e)
	}},
	{"Stats", rawOnly, func(ctx context.Context, t *testing.T, e *exam, _ bool) {
		storagetesting.RunTestStats(ctx, t, e.Interface, e.codec, e.transformer, false)
	}},
}

// compacting suites need an etcd of their own, because the other suites read from the first revision on.
var compacting = []string{"List", "CompactRevision", "ListInconsistentContinuation", "WatchFromZero"}

func examineStore(t *testing.T, m mode, cached, compacts bool) {
	for _, s := range suites {
		if slices.Contains(reckoning, s.name) != reckons() || slices.Contains(compacting, s.name) != compacts ||
			s.where == rawOnly && cached {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			if compacts {
				t.Parallel()
			}
			ctx, e := newExam(t, m, cached, compacts || s.name == "WatchSemantics") // which watches from revision 1
			s.run(ctx, t, e, cached)
		})
	}
}
