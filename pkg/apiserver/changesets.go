// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/registry/changeset"
)

// actingAuthorizer lets a DNS update (changeset.ActFor) write Records in the UpdateKey's namespace, and nothing else.
// Other writes have the rights of their user.
type actingAuthorizer struct{ authorizer.Authorizer }

var actingVerbs = []string{"get", "create", "patch", "delete"}

func (a actingAuthorizer) Authorize(ctx context.Context, asked authorizer.Attributes) (authorizer.Decision, string, error) {
	namespace, acts := changeset.ActsFor(ctx)
	if !acts {
		return a.Authorizer.Authorize(ctx, asked)
	}
	if asked.IsResourceRequest() && asked.GetAPIGroup() == v1alpha1.GroupName && asked.GetResource() == "records" &&
		asked.GetSubresource() == "" && asked.GetNamespace() == namespace && slices.Contains(actingVerbs, asked.GetVerb()) {
		return authorizer.DecisionAllow, "an update of the namespace", nil
	}
	return authorizer.DecisionDeny, "an update writes Records of its namespace alone", nil
}

const quotaOfRecords = "count/records.kubi.zone"

type quotaReturn struct {
	core kubernetes.Interface
	etcd *clientv3.Client
	keys layout.Keys
}

// returnQuota subtracts a refused change set's Records from ResourceQuotas, because Kubernetes' controller would take
// minutes to recalculate the quota.
func (q quotaReturn) returnQuota(ctx context.Context, namespace string, records int) {
	logger := klog.FromContext(ctx)
	existing, err := q.etcd.Get(ctx, q.keys.Record(namespace, ""), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		logger.Error(err, "A refused change set counts in the quota of Records until quotas are recalculated",
			"namespace", namespace, "records", records)
		return
	}

	returned := map[string]bool{} // by the quota's name
	for range maxGiveBacks {
		quotas, err := q.core.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			logger.Error(err, "A refused change set counts in the quota of Records until quotas are recalculated",
				"namespace", namespace, "records", records)
			return
		}
		mayRetry := false
		for i := range quotas.Items {
			quota := &quotas.Items[i]
			used, limited := quota.Status.Used[quotaOfRecords]
			// The existing Records are the least use.
			newUse := max(used.Value()-int64(records), existing.Count)
			if returned[quota.Name] || !limited || newUse >= used.Value() {
				continue
			}
			quota.Status.Used[quotaOfRecords] = *resource.NewQuantity(newUse, resource.DecimalSI)
			_, err := q.core.CoreV1().ResourceQuotas(namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
			switch {
			case err == nil:
				returned[quota.Name] = true
			case apierrors.IsConflict(err):
				mayRetry = true
			default:
				logger.Error(err, "A refused change set counts in a quota of Records until quotas are recalculated",
					"namespace", namespace, "quota", quota.Name, "records", records)
			}
		}
		if !mayRetry {
			return
		}
	}
}

const maxGiveBacks = 5
