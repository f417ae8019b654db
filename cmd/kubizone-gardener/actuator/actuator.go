// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

type Options struct {
	// Local configures the client of this cluster's Kubizone; may be nil.
	Local *rest.Config
	// LocalNamespaces are allowed in a Secret without a kubeconfig.
	LocalNamespaces []string
	// ReadyTimeout bounds the wait for delivery. It is less than gardenlet's two minutes.
	ReadyTimeout  time.Duration
	RetryInterval time.Duration // after a failed reconciliation
	CallTimeout   time.Duration // of a request
	PollInterval  time.Duration // between reads of the Record
}

func NewOptions() Options {
	return Options{ReadyTimeout: 90 * time.Second, RetryInterval: 15 * time.Second, CallTimeout: 15 * time.Second,
		PollInterval: 500 * time.Millisecond}
}

// New returns an actuator for a seed. The reader is for Secrets, and has no cache.
func New(seed client.Client, reader client.Reader, options Options) dnsrecord.Actuator {
	return &actuator{seed: seed, reader: reader, options: options}
}

type actuator struct {
	seed    client.Client
	reader  client.Reader
	options Options
}

func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord,
	_ *extensionscontroller.Cluster) error {
	return a.retryLater(a.reconcileRecord(ctx, log, dns))
}

func (a *actuator) Restore(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord,
	cluster *extensionscontroller.Cluster) error {
	return a.Reconcile(ctx, log, dns, cluster)
}

func (a *actuator) Migrate(context.Context, logr.Logger, *extensionsv1alpha1.DNSRecord, *extensionscontroller.Cluster) error {
	return nil
}

func (a *actuator) Delete(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord, _ *extensionscontroller.Cluster) error {
	return a.retryLater(a.removeRecord(ctx, log, dns))
}

func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord,
	_ *extensionscontroller.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, a.options.CallTimeout)
	defer cancel()
	if err := a.removeRecord(ctx, log, dns); err != nil {
		log.Error(err, "The Record was not removed, and the deletion is forced", "record", RecordName(dns.Spec.Name, dns.Spec.RecordType))
	}
	return nil
}

// retryLater sets a fixed delay, because the reconciler's backoff grows to 15 minutes.
func (a *actuator) retryLater(err error) error {
	if err == nil {
		return nil
	}
	return &reconcilerutils.RequeueAfterError{Cause: coded(err), RequeueAfter: a.options.RetryInterval}
}

func (a *actuator) reconcileRecord(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord) error {
	to, err := a.openTarget(ctx, dns.Spec.SecretRef)
	if err != nil {
		return err
	}
	want, err := makeRecord(dns, to)
	if err != nil {
		return err
	}
	record, written, err := a.writeRecord(ctx, dns, to, want)
	if err != nil {
		return err
	}
	log.Info("The Record is as the DNSRecord says", "record", record.Namespace+"/"+record.Name, "written", written,
		"serial", record.Status.Serial)
	if err := a.recordProgress(ctx, dns, record, written); err != nil {
		return err
	}
	// After an error, check an unchanged Record only once.
	timeout := a.options.ReadyTimeout
	if dns.Status.LastError != nil {
		timeout = 0
	}
	return a.waitReady(ctx, to.client.KubizoneV1alpha1().Records(record.Namespace), record, timeout)
}

// recordProgress writes the Record's Zone into the status. After a write of the Record, it clears the last error,
// because gardenlet gives up on an object with an error.
func (a *actuator) recordProgress(ctx context.Context, dns *extensionsv1alpha1.DNSRecord, record *v1alpha1.Record, written bool) error {
	zone, lastError := zoneForStatus(dns, record), dns.Status.LastError
	if written {
		lastError = nil
	}
	if zone == dns.Status.Zone && lastError == dns.Status.LastError {
		return nil
	}
	return a.patchStatus(ctx, dns, func() { dns.Status.Zone, dns.Status.LastError = zone, lastError })
}

// markBegun sets the condition Created to Unknown. Without this, the library would set False after a failure, and would
// not delete a Record that may exist.
func (a *actuator) markBegun(ctx context.Context, dns *extensionsv1alpha1.DNSRecord) error {
	created := v1beta1helper.GetCondition(dns.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated)
	if created != nil && created.Status != gardencorev1beta1.ConditionFalse {
		return nil
	}
	now := metav1.Now()
	condition := gardencorev1beta1.Condition{
		Type: extensionsv1alpha1.ConditionTypeCreated, Status: gardencorev1beta1.ConditionUnknown, LastTransitionTime: now,
		LastUpdateTime: now,
		Reason:         "Creating", Message: "The Record is being created",
	}
	return a.patchStatus(ctx, dns, func() { dns.Status.Conditions = v1beta1helper.MergeConditions(dns.Status.Conditions, condition) })
}

func (a *actuator) patchStatus(ctx context.Context, dns *extensionsv1alpha1.DNSRecord, change func()) error {
	patch := client.MergeFrom(dns.DeepCopy())
	change()
	if err := a.seed.Status().Patch(ctx, dns, patch); err != nil {
		return retryable("the status of the DNSRecord cannot be written: %w", err)
	}
	return nil
}

func (a *actuator) writeRecord(ctx context.Context, dns *extensionsv1alpha1.DNSRecord, to target, want *v1alpha1.Record) (
	record *v1alpha1.Record, written bool, err error) {
	// Retry after a concurrent change, which makes the update fail by resourceVersion.
	err = retry.OnError(retry.DefaultRetry, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) },
		func() error {
			record, written, err = a.tryWrite(ctx, dns, to, want)
			return err
		})
	return record, written, err
}

func (a *actuator) tryWrite(ctx context.Context, dns *extensionsv1alpha1.DNSRecord, to target, want *v1alpha1.Record) (
	record *v1alpha1.Record, written bool, err error) {
	records := to.client.KubizoneV1alpha1().Records(want.Namespace)
	have, err := records.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		before := slices.Clone(dns.Status.Conditions)
		if err := a.markBegun(ctx, dns); err != nil {
			return nil, false, err
		}
		if record, err = records.Create(ctx, want, metav1.CreateOptions{}); err != nil && !isUncertain(err) {
			// No Record exists, so a deletion of the DNSRecord needs no credentials.
			if err := a.patchStatus(ctx, dns, func() { dns.Status.Conditions = before }); err != nil {
				return nil, false, err
			}
		}
		return record, true, err
	}
	if err != nil {
		return nil, false, err
	}
	if have.DeletionTimestamp != nil {
		return nil, false, retryable("Record %s/%s is being deleted", have.Namespace, have.Name)
	}
	if err := checkOwner(have, owner(dns)); err != nil {
		return nil, false, err
	}
	if err := a.markBegun(ctx, dns); err != nil {
		return nil, false, err
	}
	changed := have.DeepCopy()
	changed.Spec = want.Spec
	if want.Spec.ZoneRef == nil {
		changed.Spec.ZoneRef = have.Spec.ZoneRef
	}
	changed.Labels = merge(have.Labels, want.Labels)
	changed.Annotations = merge(have.Annotations, want.Annotations)
	if apiequality.Semantic.DeepEqual(have, changed) {
		return have, false, nil
	}
	record, err = records.Update(ctx, changed, metav1.UpdateOptions{})
	return record, true, err
}

func merge(have, want map[string]string) map[string]string {
	out := make(map[string]string, len(have)+len(want))
	maps.Copy(out, have)
	maps.Copy(out, want)
	return out
}

func checkOwner(record *v1alpha1.Record, want string) error {
	if have := record.Annotations[OwnerAnnotation]; have != want {
		return configurationProblem("Record %s/%s belongs to %s (annotation %s), not to DNSRecord %s: remove one of the two",
			record.Namespace, record.Name, cmp.Or(have, "no DNSRecord"), OwnerAnnotation, want)
	}
	return nil
}

func (a *actuator) waitReady(ctx context.Context, records typed.RecordInterface, record *v1alpha1.Record, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	generation := record.Generation
	tick := time.NewTicker(a.options.PollInterval)
	defer tick.Stop()
	for {
		err := judgeRecord(record, generation)
		if err == nil || isFinal(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
		if next, err := records.Get(ctx, record.Name, metav1.GetOptions{}); err == nil {
			record = next
		} else if apierrors.IsNotFound(err) {
			return retryable("Record %s/%s was deleted meanwhile", record.Namespace, record.Name)
		}
	}
}

func judgeRecord(record *v1alpha1.Record, generation int64) error {
	if record.Status.ObservedGeneration < generation {
		return retryable("Record %s/%s: the server has not decided about it yet", record.Namespace, record.Name)
	}
	if adopted := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil &&
		adopted.Status == metav1.ConditionFalse {
		return notAdopted(adopted)
	}
	ready := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return retryable("Record %s/%s is in its zone, and whether it is delivered is not known yet", record.Namespace, record.Name)
	case ready.Status != metav1.ConditionTrue:
		return retryable("Record %s/%s is in its zone and not yet delivered to every server: %s (%s)", record.Namespace, record.Name,
			ready.Message, ready.Reason)
	}
	return nil
}

func isFinal(err error) bool {
	return !slices.Equal(v1beta1helper.ExtractErrorCodes(err),
		[]gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorRetryableInfraDependencies})
}

func (a *actuator) removeRecord(ctx context.Context, log logr.Logger, dns *extensionsv1alpha1.DNSRecord) error {
	to, err := a.openTarget(ctx, dns.Spec.SecretRef)
	if err != nil {
		return err
	}
	records := to.client.KubizoneV1alpha1().Records(to.namespace)
	name := RecordName(dns.Spec.Name, dns.Spec.RecordType)
	record, err := records.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // or the namespace is gone
	}
	if err != nil {
		return err
	}
	if err := checkOwner(record, owner(dns)); err != nil {
		log.Info("The Record stays", "reason", err.Error())
		return nil
	}
	uid := record.UID
	if err := records.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		return client.IgnoreNotFound(err)
	}
	err = wait.PollUntilContextTimeout(ctx, a.options.PollInterval, a.options.ReadyTimeout, true, func(ctx context.Context) (bool, error) {
		left, err := records.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && left.UID != uid, nil
	})
	if err != nil {
		return fmt.Errorf("Record %s/%s is still there: %w", to.namespace, name, err)
	}
	log.Info("The Record is removed", "record", to.namespace+"/"+name)
	return nil
}
