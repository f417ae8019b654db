// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// Initializer configures the ResourceQuota plugin for count/records.kubi.zone. kube-apiserver's plugin does not see our
// writes.
type Initializer struct{}

var _ admission.PluginInitializer = Initializer{}

func (Initializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(generic.NewConfiguration(nil, nil))
	}
}

const ofRecords = "count/records.kubi.zone"

// Return gives the quota of refused change sets back.
type Return struct {
	Core kubernetes.Interface
	Etcd *clientv3.Client
	Keys layout.Keys
}

// ReturnQuota subtracts a refused change set's Records from ResourceQuotas, because Kubernetes' controller would take
// minutes to recalculate the quota.
func (q Return) ReturnQuota(ctx context.Context, namespace string, records int) {
	logger := klog.FromContext(ctx)
	existing, err := q.Etcd.Get(ctx, q.Keys.Record(namespace, ""), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		logger.Error(err, "A refused change set counts in the quota of Records until quotas are recalculated",
			"namespace", namespace, "records", records)
		return
	}

	returned := map[string]bool{} // by the quota's name
	// Kubernetes' controller and other servers write the same status: read again after a conflict.
	for range maxGiveBacks {
		quotas, err := q.Core.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			logger.Error(err, "A refused change set counts in the quota of Records until quotas are recalculated",
				"namespace", namespace, "records", records)
			return
		}
		mayRetry := false
		for i := range quotas.Items {
			quota := &quotas.Items[i]
			used, limited := quota.Status.Used[ofRecords]
			// The existing Records are the least use.
			newUse := max(used.Value()-int64(records), existing.Count)
			if returned[quota.Name] || !limited || newUse >= used.Value() {
				continue
			}
			quota.Status.Used[ofRecords] = *resource.NewQuantity(newUse, resource.DecimalSI)
			_, err := q.Core.CoreV1().ResourceQuotas(namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
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
