// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	gardenlet "github.com/gardener/gardener/pkg/component/extensions/dnsrecord"
	"github.com/gardener/gardener/pkg/extensions"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	"github.com/go-logr/logr"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone-gardener/actuator"
)

const (
	// The namespace of the landscape's Records.
	landscape = "gardener"
	// Five seconds in gardenlet.
	pollInterval = 100 * time.Millisecond
)

// shoot is gardenlet's view of a shoot's DNS: the namespace in the seed and the Secret.
type shoot struct {
	t      *testing.T
	seed   *seed
	ns     string
	domain string
	secret map[string][]byte
}

// newShoot creates a shoot's namespace and Cluster, and a zone for its names.
func newShoot(t *testing.T, s *seed, name string) *shoot {
	t.Helper()
	h := &shoot{t: t, seed: s, ns: "shoot--test--" + name, domain: name + ".example"}
	s.makeZone(t, h.domain, landscape)
	return h.inSeed(s)
}

func (h *shoot) inSeed(s *seed) *shoot {
	h.t.Helper()
	other := &shoot{t: h.t, seed: s, ns: h.ns, domain: h.domain}
	s.makeNamespace(h.t, h.ns, map[string]string{v1beta1constants.GardenRole: v1beta1constants.GardenRoleShoot})
	other.setCluster(func(*gardencorev1beta1.Shoot) {})
	other.secret = map[string][]byte{"kubeconfig": []byte(h.seed.makeAccount(h.t, landscape, "gardener", recordRules)),
		"namespace": []byte(landscape)}
	return other
}

func (h *shoot) setCluster(change func(*gardencorev1beta1.Shoot)) {
	h.t.Helper()
	it := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-test", Name: h.ns}}
	change(it)
	if err := extensions.SyncClusterResourceToSeed(h.t.Context(), h.seed.Client, h.ns, it, &gardencorev1beta1.CloudProfile{}, &gardencorev1beta1.Seed{}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *shoot) makeValues(name string, of extensionsv1alpha1.DNSRecordType, values ...string) *gardenlet.Values {
	return &gardenlet.Values{
		Namespace: h.ns, Name: strings.NewReplacer("*", "any", ".", "-").Replace(name) + "-external", SecretName: "dnsrecord-" + name[len(name)-1:] + "-external",
		Type: recordType, DNSName: name + "." + h.domain, RecordType: of, Values: values, AnnotateOperation: true,
	}
}

func (h *shoot) makeComponent(values *gardenlet.Values) gardenlet.Interface {
	return gardenlet.New(logr.Discard(), h.seed.Client, values, pollInterval, gardenlet.DefaultSevereThreshold, waitTimeout, gardenlet.DeploySecretCredentials(h.secret))
}

// deployRecord deploys and waits, as gardenlet does.
func (h *shoot) deployRecord(values *gardenlet.Values) *extensionsv1alpha1.DNSRecord {
	h.t.Helper()
	c := h.makeComponent(values)
	mustSucceed(h.t, c.Deploy(h.t.Context()))
	mustSucceed(h.t, c.Wait(h.t.Context()))
	return h.getDNSRecord(values)
}

// migrateRecord migrates and waits, as gardenlet does. The Record stays.
func (h *shoot) migrateRecord(values *gardenlet.Values) {
	h.t.Helper()
	c := h.makeComponent(values)
	mustSucceed(h.t, c.Migrate(h.t.Context()))
	mustSucceed(h.t, c.WaitMigrate(h.t.Context()))
}

func (h *shoot) destroyRecord(values *gardenlet.Values) {
	h.t.Helper()
	c := h.makeComponent(values)
	mustSucceed(h.t, c.Destroy(h.t.Context()))
	mustSucceed(h.t, c.WaitCleanup(h.t.Context()))
}

// removeRecord also requires that the Record goes.
func (h *shoot) removeRecord(values *gardenlet.Values) {
	h.t.Helper()
	h.destroyRecord(values)
	if record := h.findRecord(values); record != nil {
		h.t.Errorf("the Record is left: %+v", record)
	}
}

func (h *shoot) getDNSRecord(values *gardenlet.Values) *extensionsv1alpha1.DNSRecord {
	h.t.Helper()
	var dns extensionsv1alpha1.DNSRecord
	mustSucceed(h.t, h.seed.Get(h.t.Context(), client.ObjectKey{Namespace: values.Namespace, Name: values.Name}, &dns))
	return &dns
}

func (h *shoot) patchDNSRecord(values *gardenlet.Values, change func(*extensionsv1alpha1.DNSRecord)) {
	h.t.Helper()
	dns := h.getDNSRecord(values)
	before := client.MergeFrom(dns.DeepCopy())
	change(dns)
	mustSucceed(h.t, h.seed.Patch(h.t.Context(), dns, before))
}

func (h *shoot) requestOperation(values *gardenlet.Values, operation string) {
	h.t.Helper()
	h.patchDNSRecord(values, func(dns *extensionsv1alpha1.DNSRecord) {
		dns.Annotations = map[string]string{v1beta1constants.GardenerOperation: operation}
	})
}

func (h *shoot) createDNSRecord(values *gardenlet.Values) *extensionsv1alpha1.DNSRecord {
	h.t.Helper()
	dns := &extensionsv1alpha1.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: values.Name, Annotations: map[string]string{v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationWaitForState}},
		Spec: extensionsv1alpha1.DNSRecordSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: values.Type}, SecretRef: corev1.SecretReference{Namespace: h.ns, Name: values.SecretName},
			Name: values.DNSName, RecordType: values.RecordType, Values: values.Values,
		},
	}
	mustSucceed(h.t, h.seed.Create(h.t.Context(), dns))
	return dns
}

func (h *shoot) createWithZone(values *gardenlet.Values, zone string) {
	h.t.Helper()
	if err := h.seed.Create(h.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: values.SecretName}, Data: h.secret}); err != nil && !apierrors.IsAlreadyExists(err) {
		h.t.Fatal(err)
	}
	dns := h.createDNSRecord(values)
	before := client.MergeFrom(dns.DeepCopy())
	dns.Status.Zone = &zone
	mustSucceed(h.t, h.seed.Status().Patch(h.t.Context(), dns, before))
}

// findRecord returns nil if there is no Record.
func (h *shoot) findRecord(values *gardenlet.Values) *v1alpha1.Record {
	h.t.Helper()
	return recordOf(h.t, h.seed, values)
}

func recordOf(t *testing.T, s *seed, values *gardenlet.Values) *v1alpha1.Record {
	t.Helper()
	record, err := s.kubizone.KubizoneV1alpha1().Records(landscape).Get(t.Context(), actuator.RecordName(values.DNSName, values.RecordType), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func (h *shoot) waitFor(values *gardenlet.Values, f func(*extensionsv1alpha1.DNSRecord) error) *extensionsv1alpha1.DNSRecord {
	h.t.Helper()
	var dns extensionsv1alpha1.DNSRecord
	waitUntil(h.t, func() error {
		if err := h.seed.Get(h.t.Context(), client.ObjectKey{Namespace: values.Namespace, Name: values.Name}, &dns); err != nil {
			return err
		}
		if err := f(&dns); err != nil {
			return fmt.Errorf("%w: %+v, error %+v", err, dns.Status.LastOperation, dns.Status.LastError)
		}
		return nil
	})
	return &dns
}

func hasError(code gardencorev1beta1.ErrorCode) func(*extensionsv1alpha1.DNSRecord) error {
	return func(dns *extensionsv1alpha1.DNSRecord) error {
		operation, lastError := dns.Status.LastOperation, dns.Status.LastError
		if lastError == nil || operation == nil || operation.State != gardencorev1beta1.LastOperationStateError || operation.Progress != 50 {
			return errors.New("no error yet")
		}
		if !slices.Equal(lastError.Codes, []gardencorev1beta1.ErrorCode{code}) {
			return fmt.Errorf("the codes are %v, want %s", lastError.Codes, code)
		}
		return nil
	}
}

func isHealthy(dns *extensionsv1alpha1.DNSRecord) error { return health.CheckExtensionObject(dns) }

func createdStatus(dns *extensionsv1alpha1.DNSRecord) gardencorev1beta1.ConditionStatus {
	if c := v1beta1helper.GetCondition(dns.Status.Conditions, extensionsv1alpha1.ConditionTypeCreated); c != nil {
		return c.Status
	}
	return ""
}

func TestDNSRecord_isMadeChangedAndRemoved(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "life")
	values := h.makeValues("api", "A", "192.0.2.1")

	dns := h.deployRecord(values)
	record := h.findRecord(values)
	if record == nil || !slices.Equal(record.Spec.Values, []string{"192.0.2.1"}) || *record.Spec.TTL != 120 || record.Status.FQDN != "api.life.example." {
		t.Fatalf("the Record is %+v", record)
	}
	operation := dns.Status.LastOperation
	if operation.Type != gardencorev1beta1.LastOperationTypeCreate || operation.Progress != 100 || createdStatus(dns) != gardencorev1beta1.ConditionTrue {
		t.Errorf("operation %+v, conditions %+v", operation, dns.Status.Conditions)
	}
	if dns.Status.Zone == nil || *dns.Status.Zone != "kubi.zone/platform/life-example" {
		t.Errorf("status.zone is %v", dns.Status.Zone)
	}
	if !slices.Contains(dns.Finalizers, dnsrecord.FinalizerName) {
		t.Errorf("finalizers %v", dns.Finalizers)
	}

	t.Run("a reconciliation without a change writes no Record and a new time", func(t *testing.T) {
		record := h.findRecord(values)
		later := h.deployRecord(values)
		if after := h.findRecord(values); after.ResourceVersion != record.ResourceVersion {
			t.Errorf("the Record has resourceVersion %s after %s", after.ResourceVersion, record.ResourceVersion)
		}
		if later.Status.LastOperation.LastUpdateTime.Before(&dns.Status.LastOperation.LastUpdateTime) {
			t.Errorf("lastUpdateTime %s", later.Status.LastOperation.LastUpdateTime)
		}
		zone := mustGet(s.kubizone.KubizoneV1alpha1().Zones("platform").Get(t.Context(), "life-example", metav1.GetOptions{}))(t)
		if record.Status.Serial != zone.Status.Serial {
			t.Errorf("the zone has serial %d and the Record was written in %d: the choice of the zone changed its content", zone.Status.Serial, record.Status.Serial)
		}
	})

	t.Run("a plain edit is ignored until the next operation", func(t *testing.T) {
		// The controller may see an operation twice, but not after another DNSRecord.
		h.deployRecord(h.makeValues("before", "A", "192.0.2.9"))
		h.patchDNSRecord(values, func(dns *extensionsv1alpha1.DNSRecord) { dns.Spec.Values = []string{"192.0.2.2"} })
		// This reconciliation follows the edit.
		h.deployRecord(h.makeValues("after", "A", "192.0.2.9"))
		if record := h.findRecord(values); !slices.Equal(record.Spec.Values, []string{"192.0.2.1"}) {
			t.Errorf("the Record has %v", record.Spec.Values)
		}
		values.Values = []string{"192.0.2.2", "192.0.2.3"}
		h.deployRecord(values)
		if record := h.findRecord(values); !slices.Equal(record.Spec.Values, values.Values) {
			t.Errorf("the Record has %v", record.Spec.Values)
		}
	})

	h.removeRecord(values)
}

// A timestamp after the last operation makes gardenlet wait for another reconciliation.
func TestTimestamp_thatIsLaterAsksForAReconciliation(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "timestamp")
	values := h.makeValues("api", "A", "192.0.2.1")
	values.AnnotateOperation, values.ReconcileOnlyOnChangeOrError = false, true
	before := h.deployRecord(values).Status.LastOperation.LastUpdateTime
	h.patchDNSRecord(values, func(dns *extensionsv1alpha1.DNSRecord) {
		dns.Annotations[v1beta1constants.GardenerTimestamp] = before.Add(time.Second).UTC().Format(time.RFC3339Nano)
	})
	if err := isHealthy(h.getDNSRecord(values)); err == nil {
		t.Error("gardenlet is content before the reconciliation")
	}
	waitUntil(t, func() error {
		if err := h.makeComponent(values).Deploy(t.Context()); err != nil {
			return err
		}
		return isHealthy(h.getDNSRecord(values))
	})
}

// A DNSRecord is removed although its Record is gone, with or without the Zone.
func TestDeletion_ofWhatIsGone(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "gone")
	lost, orphan := h.makeValues("lost", "A", "192.0.2.1"), h.makeValues("orphan", "A", "192.0.2.1")
	h.deployRecord(lost)
	h.deployRecord(orphan)
	mustSucceed(t, s.kubizone.KubizoneV1alpha1().Records(landscape).Delete(t.Context(), h.findRecord(lost).Name,
		metav1.DeleteOptions{}))
	h.destroyRecord(lost)
	zones := s.kubizone.KubizoneV1alpha1().Zones("platform")
	gone := mustGet(zones.Get(t.Context(), "gone-example", metav1.GetOptions{}))(t)
	// The Zone has Records of the landscape.
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationDelete, gone.UID)
	mustGet(zones.Patch(t.Context(), gone.Name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	mustSucceed(t, zones.Delete(t.Context(), "gone-example", metav1.DeleteOptions{}))
	waitUntil(t, func() error {
		if record := h.findRecord(orphan); record.Status.ZoneRef != nil {
			return fmt.Errorf("the Record is in %+v", record.Status.ZoneRef)
		}
		return nil
	})
	h.removeRecord(orphan)
}

// A DNSRecord never changes its type: gardenlet destroys, waits and creates.
func TestDNSRecord_recordTypeChanges(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "retype")
	values := h.makeValues("api", "A", "192.0.2.1")
	h.deployRecord(values)
	before := *values
	values.RecordType, values.Values = "CNAME", []string{"lb.example.com"}
	h.deployRecord(values)
	if h.findRecord(&before) != nil || h.findRecord(values) == nil {
		t.Errorf("A: %v, CNAME: %v", h.findRecord(&before), h.findRecord(values))
	}
}

func TestOperationAnnotation_whenItGoes(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "order")

	t.Run("reconcile goes before an error", func(t *testing.T) {
		values := h.makeValues("reconcile", "A", "no address")
		mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
		dns := h.waitFor(values, hasError(gardencorev1beta1.ErrorConfigurationProblem))
		if _, there := dns.Annotations[v1beta1constants.GardenerOperation]; there {
			t.Errorf("the annotations are %v", dns.Annotations)
		}
		h.destroyRecord(values)
	})

	t.Run("wait-for-state is left alone, and restore goes after success", func(t *testing.T) {
		values := h.makeValues("restore", "A", "192.0.2.1")
		values.SecretName = "missing"
		h.createDNSRecord(values)
		h.deployRecord(h.makeValues("other", "A", "192.0.2.9"))
		if dns := h.getDNSRecord(values); dns.Status.LastOperation != nil || len(dns.Finalizers) > 0 {
			t.Fatalf("it was reconciled: %+v", dns.Status.LastOperation)
		}
		h.requestOperation(values, v1beta1constants.GardenerOperationRestore)
		dns := h.waitFor(values, hasError(gardencorev1beta1.ErrorConfigurationProblem))
		if dns.Annotations[v1beta1constants.GardenerOperation] != v1beta1constants.GardenerOperationRestore || dns.Status.LastOperation.Type != gardencorev1beta1.LastOperationTypeRestore {
			t.Errorf("after an error: %v, %+v", dns.Annotations, dns.Status.LastOperation)
		}
		if err := h.seed.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "missing"}, Data: h.secret}); err != nil {
			t.Fatal(err)
		}
		h.waitFor(values, isHealthy)
	})
}

func TestMigration_leavesNoGap(t *testing.T) {
	from, to := requireSeed(t, &first), requireSeed(t, &second)
	from.startController(t)
	to.startController(t)
	source := newShoot(t, from, "moving")
	values := source.makeValues("api", "A", "192.0.2.1")
	source.deployRecord(values)
	before := source.findRecord(values)

	source.migrateRecord(values)
	dns := source.waitFor(values, func(dns *extensionsv1alpha1.DNSRecord) error {
		if _, there := dns.Annotations[v1beta1constants.GardenerOperation]; there || len(dns.Finalizers) > 0 {
			return errors.New("the annotation or a finalizer is left")
		}
		return nil
	})
	// After Migrate/Succeeded a reconciliation is skipped: the other seed owns the name.
	source.patchDNSRecord(values, func(dns *extensionsv1alpha1.DNSRecord) {
		dns.Annotations[v1beta1constants.GardenerOperation] = v1beta1constants.GardenerOperationReconcile
		dns.Spec.Values = []string{"192.0.2.66"}
	})
	source.deployRecord(source.makeValues("other", "A", "192.0.2.9"))
	if record := source.findRecord(values); record.ResourceVersion != before.ResourceVersion {
		t.Errorf("after %s the Record is %+v", dns.Status.LastOperation.Type, record.Spec)
	}
	source.destroyRecord(values)
	if record := source.findRecord(values); record == nil || record.UID != before.UID || record.ResourceVersion != before.ResourceVersion {
		t.Fatalf("the Record was\n%+v\nand is\n%+v", before, record)
	}

	target := source.inSeed(to)
	c := target.makeComponent(values)
	mustSucceed(t, c.Restore(t.Context(), &gardencorev1beta1.ShootState{}))
	mustSucceed(t, c.Wait(t.Context()))
	after := recordOf(t, from, values)
	if after == nil || after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Fatalf("the Record was\n%+v\nand is\n%+v", before, after)
	}
	values.Values = []string{"198.51.100.1"}
	target.deployRecord(values)
	if record := recordOf(t, from, values); record.UID != before.UID || !slices.Equal(record.Spec.Values, values.Values) {
		t.Errorf("the Record is %+v", record)
	}
	target.destroyRecord(values)
	if record := recordOf(t, from, values); record != nil {
		t.Errorf("the Record is left: %+v", record)
	}
}

// Both seeds' credentials must name the same namespace, else the name stays and keeps answering.
func TestMigration_toAnotherNamespaceIsRefused(t *testing.T) {
	from, to := requireSeed(t, &first), requireSeed(t, &second)
	from.startController(t)
	to.startController(t)
	from.makeZone(t, "parted.example", landscape, func(zone *v1alpha1.Zone) {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "elsewhere", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	})
	source := (&shoot{t: t, seed: from, ns: "shoot--test--parted", domain: "parted.example"}).inSeed(from)
	values := source.makeValues("api", "A", "192.0.2.1")
	source.deployRecord(values)
	before := source.findRecord(values)
	source.migrateRecord(values)
	source.destroyRecord(values)

	target := source.inSeed(to)
	target.secret = map[string][]byte{"kubeconfig": []byte(from.makeAccount(t, "elsewhere", "gardener", recordRules)),
		"namespace": []byte("elsewhere")}
	mustSucceed(t, target.makeComponent(values).Restore(t.Context(), &gardencorev1beta1.ShootState{}))
	dns := target.waitFor(values, hasError(gardencorev1beta1.ErrorConfigurationProblem))
	if !strings.Contains(dns.Status.LastError.Description, "is claimed by another namespace") {
		t.Errorf("%s", dns.Status.LastError.Description)
	}
	if record := recordOf(t, from, values); record == nil || record.UID != before.UID || record.Status.ZoneRef == nil {
		t.Errorf("the Record was\n%+v\nand is\n%+v", before, record)
	}
	target.destroyRecord(values)
}

func TestErrors_haveACodeEach(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "errors")
	s.makeZone(t, "closed.example", "platform")
	s.makeZone(t, "small.example", landscape, func(zone *v1alpha1.Zone) {
		zone.Spec.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: ptr.To[int32](1)}
	})
	s.makeZone(t, "shared.example", landscape, func(zone *v1alpha1.Zone) {
		zone.Spec.Delegations = append(zone.Spec.Delegations, v1alpha1.DelegationRule{Namespace: "neighbour", Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	})
	s.makeNamespace(t, "neighbour", nil)
	// Namespaces with budgets (S9.3): storage is full, or a minute's writes are spent, just before the case.
	budgets := map[string]string{"full": "stored=1", "hasty": "written=1"}
	kubeconfigs := map[string]string{}
	for namespace := range budgets {
		kubeconfigs[namespace] = s.makeAccount(t, namespace, "gardener", recordRules)
		s.makeZone(t, namespace+".example", namespace)
	}
	inNamespace := func(namespace string) func(*gardenlet.Values, map[string]string) {
		return func(v *gardenlet.Values, secret map[string]string) {
			secret["namespace"], secret["kubeconfig"], v.DNSName = namespace, kubeconfigs[namespace], "api."+namespace+".example"
			patch := []byte(`{"metadata":{"annotations":{"kubi.zone/budget":"` + budgets[namespace] + `"}}}`)
			mustGet(s.kube.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
			var err error // the server follows annotations by an informer
			for n := 0; err == nil && n < 1000; n++ {
				err = s.putRecord(t, namespace, fmt.Sprintf("filler%d.%s.example.", n, namespace), "A", "192.0.2.1")
			}
		}
	}
	mustSucceed(t, errors.Join(
		s.putRecord(t, landscape, "filler.small.example.", "A", "192.0.2.1"),
		s.putRecord(t, "neighbour", "held.shared.example.", "A", "192.0.2.1"),
		s.putRecord(t, landscape, "alias.shared.example.", "CNAME", "www.example.com."),
	))
	good := string(h.secret["kubeconfig"])
	for _, c := range []struct {
		name    string
		code    gardencorev1beta1.ErrorCode
		created gardencorev1beta1.ConditionStatus // False: its deletion asks no provider
		change  func(*gardenlet.Values, map[string]string)
	}{
		{"no Secret", gardencorev1beta1.ErrorConfigurationProblem, "False", func(v *gardenlet.Values, _ map[string]string) { v.UseExistingSecret, v.SecretName = true, "missing" }},
		{"no rights", gardencorev1beta1.ErrorInfraUnauthorized, "False", func(_ *gardenlet.Values, secret map[string]string) { secret["namespace"] = "platform" }},
		{"a zone without a rule", gardencorev1beta1.ErrorInfraUnauthorized, "False", func(v *gardenlet.Values, _ map[string]string) { v.DNSName = "api.closed.example" }},
		{"a Zone that does not exist", gardencorev1beta1.ErrorConfigurationProblem, "Unknown", func(v *gardenlet.Values, _ map[string]string) { zone := "platform/nothing"; v.Zone = &zone }},
		{"a name in no zone", gardencorev1beta1.ErrorConfigurationProblem, "Unknown", func(v *gardenlet.Values, _ map[string]string) { v.DNSName = "api.nowhere" }},
		{"a value that does not fit", gardencorev1beta1.ErrorConfigurationProblem, "False", func(v *gardenlet.Values, _ map[string]string) { v.Values = []string{"2001:db8::1"} }},
		{"a name of another namespace", gardencorev1beta1.ErrorConfigurationProblem, "False", func(v *gardenlet.Values, _ map[string]string) { v.DNSName = "held.shared.example" }},
		{"an alias beside it", gardencorev1beta1.ErrorConfigurationProblem, "False", func(v *gardenlet.Values, _ map[string]string) { v.DNSName = "alias.shared.example" }},
		{"a limit of the zone", gardencorev1beta1.ErrorInfraQuotaExceeded, "False", func(v *gardenlet.Values, _ map[string]string) { v.DNSName = "api.small.example" }},
		{"a budget that is used up", gardencorev1beta1.ErrorInfraQuotaExceeded, "False", inNamespace("full")},
		{"too many writes", gardencorev1beta1.ErrorInfraRateLimitsExceeded, "False", inNamespace("hasty")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for a second attempt
			h := &shoot{t: t, seed: s, ns: h.ns, domain: h.domain, secret: map[string][]byte{}}
			values := h.makeValues(strings.ReplaceAll(strings.ToLower(c.name), " ", "-"), "A", "192.0.2.1")
			values.SecretName = values.Name
			secret := map[string]string{"kubeconfig": good, "namespace": landscape}
			c.change(values, secret)
			for key, value := range secret {
				h.secret[key] = []byte(value)
			}
			mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
			before := h.waitFor(values, hasError(c.code)).Status.LastError.LastUpdateTime
			// A later attempt reports the same about creation.
			dns := h.waitFor(values, func(dns *extensionsv1alpha1.DNSRecord) error {
				if err := hasError(c.code)(dns); err != nil {
					return err
				}
				if !dns.Status.LastError.LastUpdateTime.After(before.Time) {
					return errors.New("not tried again yet")
				}
				return nil
			})
			if got := createdStatus(dns); got != c.created {
				t.Errorf("Created is %q, want %q", got, c.created)
			}
			t.Logf("%s", dns.Status.LastError.Description)
			h.removeRecord(values)
		})
	}
}

func TestCredentials_areReadAtEachUse(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "rotation")
	values := h.makeValues("api", "A", "192.0.2.1")
	h.deployRecord(values)
	good := h.secret
	h.secret = map[string][]byte{"KUBIZONE_KUBECONFIG": []byte(s.makeKubeconfig(t, s.config.Host, "revoked")),
		"KUBIZONE_NAMESPACE": []byte(landscape)}
	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	h.waitFor(values, hasError(gardencorev1beta1.ErrorInfraUnauthenticated))
	h.secret = map[string][]byte{"KUBIZONE_KUBECONFIG": good["kubeconfig"], "KUBIZONE_NAMESPACE": good["namespace"]}
	h.deployRecord(values)
}

func TestZone_specThenStatusThenLongest(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "zones")
	// A child zone with names below, and a rule with "*", which reserves nothing (S4.20), for another.
	const addRule = `[{"op":"add","path":"/spec/delegations/-","value":{"namespace":"platform","zones":["inner","late*"]}}]`
	mustGet(s.kubizone.KubizoneV1alpha1().Zones("platform").Patch(t.Context(), "zones-example", "application/json-patch+json",
		[]byte(addRule), metav1.PatchOptions{}))(t)
	s.makeZone(t, "inner.zones.example", landscape)

	longest := h.makeValues("a.inner", "A", "192.0.2.1")
	if dns := h.deployRecord(longest); *dns.Status.Zone != "kubi.zone/platform/inner-zones-example" {
		t.Errorf("status.zone %s", *dns.Status.Zone)
	}

	// spec.zone has precedence.
	chosen := h.makeValues("b.inner", "A", "192.0.2.1")
	zone := "platform/inner-zones-example"
	chosen.Zone = &zone
	if dns := h.deployRecord(chosen); *dns.Status.Zone != "kubi.zone/"+zone || h.findRecord(chosen).Spec.ZoneRef == nil {
		t.Errorf("status.zone %s, Record %+v", *dns.Status.Zone, h.findRecord(chosen).Spec)
	}
	// A zone that resolvers would not ask is refused.
	shorter, tooShort := h.makeValues("d.inner", "A", "192.0.2.1"), "platform/zones-example"
	shorter.Zone = &tooShort
	mustSucceed(t, h.makeComponent(shorter).Deploy(t.Context()))
	if dns := h.waitFor(shorter, hasError(gardencorev1beta1.ErrorConfigurationProblem)); !strings.Contains(dns.Status.LastError.Description, "refer to the longer zone") {
		t.Errorf("%s", dns.Status.LastError.Description)
	}
	h.destroyRecord(shorter)
	// Without spec.zone the status' zone stays.
	chosen.Zone = nil
	if dns := h.deployRecord(chosen); *dns.Status.Zone != "kubi.zone/"+zone || h.findRecord(chosen).Spec.ZoneRef == nil {
		t.Errorf("status.zone %s, Record %+v", *dns.Status.Zone, h.findRecord(chosen).Spec)
	}

	// Another provider's zone identifier is replaced.
	foreign := h.makeValues("c.inner", "A", "192.0.2.1")
	foreign.AnnotateOperation = false
	h.createWithZone(foreign, "/hostedzone/Z2FDTNDATAQYW2")
	h.requestOperation(foreign, v1beta1constants.GardenerOperationReconcile)
	if dns := h.waitFor(foreign, isHealthy); *dns.Status.Zone != "kubi.zone/platform/inner-zones-example" {
		t.Errorf("status.zone %s", *dns.Status.Zone)
	}

	// After a split the Record moves to the longer zone (S2.1); the status is written once.
	split := h.makeValues("x.later", "A", "192.0.2.1")
	if dns := h.deployRecord(split); *dns.Status.Zone != "kubi.zone/platform/zones-example" || h.findRecord(split).Spec.ZoneRef != nil {
		t.Errorf("status.zone %s, Record %+v", *dns.Status.Zone, h.findRecord(split).Spec)
	}
	s.makeZone(t, "later.zones.example", landscape)
	inLater := func() error {
		if record := h.findRecord(split); record == nil || record.Status.ZoneRef == nil ||
			record.Status.ZoneRef.Name != "later-zones-example" {
			return fmt.Errorf("the Record is %+v", record)
		}
		return nil
	}
	waitUntil(t, inLater)
	before := h.findRecord(split)
	if dns := h.deployRecord(split); *dns.Status.Zone != "kubi.zone/platform/zones-example" ||
		h.findRecord(split).Generation != before.Generation {
		t.Errorf("status.zone %s, Record %+v after %+v", *dns.Status.Zone, h.findRecord(split), before)
	}
	// A lost Record is created there too: the status' zone would refuse it.
	mustSucceed(t, s.kubizone.KubizoneV1alpha1().Records(landscape).Delete(t.Context(), before.Name, metav1.DeleteOptions{}))
	if dns := h.deployRecord(split); *dns.Status.Zone != "kubi.zone/platform/zones-example" {
		t.Errorf("status.zone %s", *dns.Status.Zone)
	}
	// Times have whole seconds, so gardenlet may accept the former operation.
	waitUntil(t, inLater)
}

// A class without a delivery keeps the Record unready.
func TestReady_isWaitedForNoLongerThanItsBound(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t, "--ready-timeout=2s")
	h := newShoot(t, s, "undelivered")
	classes := s.kubizone.KubizoneV1alpha1().DNSClasses()
	if _, err := classes.Create(t.Context(), &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: "undelivered"},
		Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"platform"}}, Webhook: &v1alpha1.WebhookProvider{
			Server: "https://hook.example.net", HMACAuth: &v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{Namespace: "platform", Name: "hook", Key: "hmac"}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	setClasses := func(classes string) {
		t.Helper()
		mustGet(s.kubizone.KubizoneV1alpha1().Zones("platform").Patch(t.Context(), "undelivered-example", "application/merge-patch+json",
			[]byte(`{"spec":{"dnsClassRefs":`+classes+`}}`), metav1.PatchOptions{}))(t)
	}
	setClasses(`[{"name":"undelivered"}]`)

	values := h.makeValues("api", "A", "192.0.2.1")
	started := time.Now()
	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	h.waitFor(values, func(dns *extensionsv1alpha1.DNSRecord) error {
		if h.findRecord(values) == nil {
			return errors.New("the Record is not made yet")
		}
		if operation := dns.Status.LastOperation; operation.State == gardencorev1beta1.LastOperationStateProcessing && (dns.Status.LastError != nil || operation.Progress != 1) {
			t.Errorf("while it waits: %+v, %+v", operation, dns.Status.LastError)
		}
		return nil
	})
	dns := h.waitFor(values, hasError(gardencorev1beta1.ErrorRetryableInfraDependencies))
	if waited := time.Since(started); waited < 2*time.Second {
		t.Errorf("the error came after %s, before the bound", waited)
	}
	if !strings.Contains(dns.Status.LastError.Description, "not yet delivered to every server") || createdStatus(dns) != gardencorev1beta1.ConditionUnknown {
		t.Errorf("%s; conditions %+v", dns.Status.LastError.Description, dns.Status.Conditions)
	}

	h.removeRecord(values)

	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	h.waitFor(values, hasError(gardencorev1beta1.ErrorRetryableInfraDependencies))
	setClasses(`[]`)
	h.waitFor(values, isHealthy)
}

func TestShoot_thatFailedIsSkipped(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "failed")
	h.setCluster(func(shoot *gardencorev1beta1.Shoot) {
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: gardencorev1beta1.LastOperationStateFailed, LastUpdateTime: metav1.Now()}
	})
	values := h.makeValues("api", "A", "192.0.2.1")
	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	newShoot(t, s, "beside").deployRecord(&gardenlet.Values{
		Namespace: "shoot--test--beside", Name: "api", SecretName: "dnsrecord-api", Type: recordType, DNSName: "api.beside.example", RecordType: "A", Values: []string{"192.0.2.1"}, AnnotateOperation: true,
	})
	if dns := h.getDNSRecord(values); dns.Status.LastOperation != nil || h.findRecord(values) != nil {
		t.Fatalf("it was reconciled: %+v", dns.Status.LastOperation)
	}
	h.setCluster(func(shoot *gardencorev1beta1.Shoot) {
		shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{State: gardencorev1beta1.LastOperationStateProcessing, LastUpdateTime: metav1.Now()}
	})
	h.deployRecord(values)
}

func TestShoot_thatIsDeletedByForce(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "forced")
	with, without := h.makeValues("with", "A", "192.0.2.1"), h.makeValues("without", "A", "192.0.2.1")
	h.deployRecord(with)
	h.deployRecord(without)
	good := h.secret
	h.secret = map[string][]byte{"namespace": []byte(landscape), "kubeconfig": []byte(s.makeKubeconfig(t, s.config.Host, "revoked"))}
	c := h.makeComponent(without)
	mustSucceed(t, c.Destroy(t.Context()))
	h.waitFor(without, hasError(gardencorev1beta1.ErrorInfraUnauthenticated))
	h.setCluster(func(shoot *gardencorev1beta1.Shoot) {
		shoot.Annotations = map[string]string{v1beta1constants.AnnotationConfirmationForceDeletion: "true"}
	})
	mustSucceed(t, c.WaitCleanup(t.Context()))
	h.secret = good
	h.destroyRecord(with)
	if h.findRecord(with) != nil || h.findRecord(without) == nil {
		t.Errorf("with credentials: %v; without: %v", h.findRecord(with), h.findRecord(without))
	}
}

func TestRecord_ofAnotherDNSRecordIsLeftAlone(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "owner")
	values := h.makeValues("api", "A", "192.0.2.1")
	h.deployRecord(values)
	second := *values
	second.Name, second.Values = "another", []string{"192.0.2.66"}
	mustSucceed(t, h.makeComponent(&second).Deploy(t.Context()))
	dns := h.waitFor(&second, hasError(gardencorev1beta1.ErrorConfigurationProblem))
	if !strings.Contains(dns.Status.LastError.Description, "belongs to "+h.ns+"/"+values.Name) {
		t.Errorf("%s", dns.Status.LastError.Description)
	}
	h.destroyRecord(&second)
	if record := h.findRecord(values); record == nil || !slices.Equal(record.Spec.Values, values.Values) {
		t.Errorf("the Record is %+v", record)
	}
}

func TestKubizone_thatIsNotReachable(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t)
	h := newShoot(t, s, "outage")
	values := h.makeValues("api", "A", "192.0.2.1")
	h.deployRecord(values)
	s.executeCommand(t, "stop")
	running := false
	start := func() {
		if !running {
			running = true
			s.executeCommand(t, "start")
		}
	}
	defer start()
	values.Values = []string{"192.0.2.2"}
	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	h.waitFor(values, hasError(gardencorev1beta1.ErrorRetryableInfraDependencies))
	start()
	h.waitFor(values, isHealthy)
	if record := h.findRecord(values); !slices.Equal(record.Spec.Values, values.Values) {
		t.Errorf("the Record has %v", record.Spec.Values)
	}
}

// The controller is killed between the write of the Record and the end of the operation.
func TestController_thatIsRestarted(t *testing.T) {
	s := requireSeed(t, &first)
	p := s.startController(t)
	h := newShoot(t, s, "restart")
	values := h.makeValues("api", "A", "192.0.2.1")
	h.deployRecord(values)
	mustSucceed(t, p.stopProcess())
	values.Values = []string{"192.0.2.2"}
	c := h.makeComponent(values)
	mustSucceed(t, c.Deploy(t.Context()))
	p.startProcess(t)
	mustSucceed(t, c.Wait(t.Context()))
	if record := h.findRecord(values); !slices.Equal(record.Spec.Values, values.Values) {
		t.Errorf("the Record has %v", record.Spec.Values)
	}
}

// DNSRecords of a seed or the garden have no Cluster.
func TestClassesAndTypes_areThoseOfTheFlags(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t, "--extension-classes=garden,seed,shoot", "--types=kubizone,aws-route53", "--local-namespaces="+landscape)
	s.makeZone(t, "garden.example", landscape)
	s.makeNamespace(t, "garden", nil)
	s.grantRules(t, landscape, "garden", name, recordRules)
	for _, c := range []struct {
		class extensionsv1alpha1.ExtensionClass
		of    string
	}{{"garden", recordType}, {"seed", recordType}, {"seed", "aws-route53"}, {"shoot", "aws-route53"}} {
		t.Run(string(c.class)+" "+c.of, func(t *testing.T) {
			// This cluster's Kubizone, with the controller's rights.
			h := &shoot{t: t, seed: s, ns: "garden", domain: "garden.example", secret: map[string][]byte{"namespace": []byte(landscape)}}
			values := h.makeValues(string(c.class)+"-"+c.of, "A", "192.0.2.1")
			values.Class, values.Type = &c.class, c.of
			h.deployRecord(values)
			h.removeRecord(values)
		})
	}
}

// An alert about a missing metric never fires. controller-runtime counts no failure: the controller sets its own
// retry.
func TestAlerts_areOfMetricsThatAFailureMoves(t *testing.T) {
	s := requireSeed(t, &first)
	// Ports below 32768 are not ephemeral, so no other program takes the port meanwhile.
	var address string
	waitUntil(t, func() error {
		address = fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12768))
		reserved, err := net.Listen("tcp", address)
		if err == nil {
			err = reserved.Close()
		}
		return err
	})
	s.startController(t, "--metrics-bind-address="+address)
	h := newShoot(t, s, "alerts")
	values := h.makeValues("api", "A", "no address")
	mustSucceed(t, h.makeComponent(values).Deploy(t.Context()))
	waitUntil(t, func() error {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		for _, series := range []string{
			`controller_runtime_reconcile_total\{controller="dnsrecord",result="requeue_after"\} [1-9]`,
			`workqueue_depth\{[^}]*name="dnsrecord"[^}]*\} `,
		} {
			if !regexp.MustCompile(series).Match(text) {
				return fmt.Errorf("no metric %s in\n%s", series, text)
			}
			name, _, _ := strings.Cut(series, `\{`)
			if !slices.ContainsFunc(readAlertRules(t).Groups[0].Rules,
				func(r monitoringv1.Rule) bool { return strings.Contains(r.Expr.String(), name+"{") }) {
				t.Errorf("no alert is of %s", name)
			}
		}
		return nil
	})
	h.destroyRecord(values)
}

// The controller's Role names the Leases of heartbeat and election.
func TestHeartbeat_isRenewedByTheLeader(t *testing.T) {
	s := requireSeed(t, &first)
	s.startController(t, "--leader-election=true", "--leader-election-namespace=garden")
	var before time.Time
	waitUntil(t, func() error {
		lease, err := s.kube.CoordinationV1().Leases("garden").Get(t.Context(), extensions.HeartBeatResourceName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *lease.Spec.HolderIdentity != name {
			return fmt.Errorf("the holder is %s", *lease.Spec.HolderIdentity)
		}
		if before.IsZero() {
			before = lease.Spec.RenewTime.Time
		}
		if !lease.Spec.RenewTime.After(before) {
			return errors.New("not renewed yet")
		}
		return nil
	})
}
