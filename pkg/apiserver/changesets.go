// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/registry/changeset"
)

// itemHandler serves the items of change sets once the generic server is made: its handler is a part of that.
type itemHandler struct{ http.Handler }

// keepItems has the server serve the items of change sets, too: what a request meets behind authentication,
// impersonation, priority and fairness. The set has passed these for all its items. A seat for each item would be
// held while it waits for the others, which may wait for seats; so the set has one, for as long as all of its items
// take. Each has an audit event of its own, as the policy says for Records, with the set's ID.
func keepItems(config *genericapiserver.Config) *itemHandler {
	items := &itemHandler{}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(api http.Handler, c *genericapiserver.Config) http.Handler {
		handler := genericapifilters.WithAuthorization(checkBodies(api), actingAuthorizer{c.Authorization.Authorizer}, c.Serializer)
		handler = genericapifilters.WithAudit(handler, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc)
		handler = genericapifilters.WithLatencyTrackers(handler)
		handler = genericapifilters.WithRequestInfo(handler, c.RequestInfoResolver)
		handler = genericapifilters.WithRequestReceivedTimestamp(handler)
		handler = genericfilters.WithPanicRecovery(handler, c.RequestInfoResolver)
		items.Handler = genericapifilters.WithAuditInit(handler)
		return build(changeset.WithRequest(api), c)
	}
	return items
}

// actingAuthorizer allows items of sets that this process makes for an UpdateKey to write Records of its namespace, and
// nothing else (S13.1). Another item has the rights of its user.
type actingAuthorizer struct{ authorizer.Authorizer }

// actingVerbs are what items are.
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

// quotaOfRecords is the quota that counts Records.
const quotaOfRecords = "count/records.kubi.zone"

// quotaReturn gives back what change sets that were refused have taken of quotas.
type quotaReturn struct {
	core kubernetes.Interface
	etcd *clientv3.Client
	keys layout.Keys
}

// returnQuota returns to the quotas of a namespace so many Records that the plugin ResourceQuota has counted and that
// were not created. Upstream's controller would do so some minutes later. Records that exist stay counted, whatever
// the controller has done meanwhile.
func (q quotaReturn) returnQuota(ctx context.Context, namespace string, records int) {
	logger := klog.FromContext(ctx)
	present, err := q.etcd.Get(ctx, q.keys.Record(namespace, ""), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		logger.Error(err, "What a refused change set took of the quota of Records is counted until quotas are counted anew",
			"namespace", namespace, "records", records)
		return
	}
	for range maxGiveBacks {
		quotas, err := q.core.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			logger.Error(err, "What a refused change set took of the quota of Records is counted until quotas are counted anew",
				"namespace", namespace, "records", records)
			return
		}
		conflict := false
		for i := range quotas.Items {
			quota := &quotas.Items[i]
			used, counts := quota.Status.Used[quotaOfRecords]
			left := max(used.Value()-int64(records), present.Count)
			if !counts || left >= used.Value() {
				continue
			}
			quota.Status.Used[quotaOfRecords] = *resource.NewQuantity(left, resource.DecimalSI)
			if _, err := q.core.CoreV1().ResourceQuotas(namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{}); apierrors.IsConflict(
				err) && len(quotas.Items) == 1 {
				conflict = true
			} else if err != nil {
				logger.Error(err, "What a refused change set took of a quota of Records is counted until quotas are counted anew",
					"namespace", namespace, "quota", quota.Name, "records", records)
			}
		}
		if !conflict {
			return
		}
	}
}

// maxGiveBacks bounds how often a quota is read anew that another request has written.
const maxGiveBacks = 5
