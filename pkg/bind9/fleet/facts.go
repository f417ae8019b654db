// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

func (f *Fleet) observeServer(w *facts) {
	if w.now = f.Clock.Now(); w.server == nil {
		return
	}
	w.workload, w.ready, w.finished = f.judgeWorkload(w.server)
	w.pods = f.listPods(w.server)
	w.service, _ = f.children.cached(render.Services, w.server.Namespace, w.server.Name).(*corev1.Service)
	w.children = f.children.listChildren(w.server.Namespace, render.KindInstance+"/"+w.server.Name)
	w.formerSets = f.children.listSuperseded(w.server.Namespace, w.server.Name)
	w.agentErr = f.silent.find(cache.MetaObjectToName(w.instance))
}

// readServer computes the desired state: settings, keys, catalogs and objects. An invalid configuration is w.invalid
// and no error, because a retry would not help.
func (f *Fleet) readServer(ctx context.Context, w *facts) error {
	server := render.Merge(w.instance, w.cluster)
	server.Platform, w.server = f.Platform, &server

	if err := f.readKeys(ctx, w); err != nil {
		return err
	}

	server.Catalogs, server.UnkeyedPrimaries = f.listCatalogs(w.instance, w.cluster, &server), f.listUnkeyed(&server)
	if err := f.findPrimaries(ctx, &server); err != nil {
		return err
	}

	if w.objects, w.invalid = server.Objects(); w.invalid != nil {
		return nil
	}

	if w.ownsKeys() {
		owner := render.Owner{Kind: render.KindInstance, Name: server.Name, UID: server.UID}
		w.objects = append(render.TransferObjects(server.Namespace, owner, server.Transfer, &server.Platform), w.objects...)
	}

	// The agent reports the same hash once BIND has loaded the files.
	if mounted, err := server.MountedFiles(); err == nil {
		w.hash = render.Hash(mounted)
	}
	return nil
}

// Without a primary's address, the server follows no catalog.
func (f *Fleet) findPrimaries(ctx context.Context, server *render.Server) error {
	isSigner := server.Peers != nil
	if !isSigner && len(server.Catalogs) == 0 {
		return nil
	}
	primaries, err := f.Primaries(ctx)
	if isSigner {
		server.HiddenPrimaries = primaries
	}
	if len(primaries) == 0 {
		server.Catalogs = nil
	}
	for i := range server.Catalogs {
		server.Catalogs[i].Primaries = primaries
	}
	return err
}

// readKeys reads the keys of a server from the Secrets, or makes them. Transfer keys of a cluster are made by the
// cluster's reconcile, and missing keys are errNoTransferKey.
func (f *Fleet) readKeys(ctx context.Context, w *facts) error {
	server, signs := w.server, w.cluster != nil && w.ownsKeys()
	agent, control := render.AgentSecretName(server.Name), render.RNDCSecretName(server.Name)
	group, peers := render.TransferSecretName(server.Group()), render.TransferSecretName(server.Cluster)
	names := []string{group, agent, control}
	if signs {
		names = append(names, peers)
	}

	secrets, err := f.children.readSecrets(ctx, server.Namespace, names)
	if err != nil {
		return err
	}

	if w.ownsKeys() {
		w.keys, err = f.chooseKeys(secrets[group], server.Namespace, server.Group(), server.Settings.TSIGKey,
			[]*bind9.Bind9Instance{w.instance})
	} else {
		w.keys.TransferKeys, err = parseTransferKeys(secrets[group])
	}

	// A signer also accepts the cluster's key, since the other servers transfer from the signer.
	if err == nil && signs {
		server.Peers = &render.TransferKeys{}
		*server.Peers, err = parseTransferKeys(secrets[peers])
	}
	if err != nil {
		return err
	}

	server.Transfer = w.keys.TransferKeys
	if server.Access, err = f.ensureAccess(secrets[agent], server); err != nil {
		return err
	}
	server.Control, err = f.ensureControlKey(secrets[control])
	return err
}

func parseTransferKeys(secret *corev1.Secret) (render.TransferKeys, error) {
	if secret == nil {
		return render.TransferKeys{}, errNoTransferKey
	}
	return render.ReadTransferKeys(secret.Annotations, secret.Data)
}

// chooseKeys returns the transfer keys of a group, after the step of a rotation if a step is due. members have to
// accept both keys before the next step.
func (f *Fleet) chooseKeys(secret *corev1.Secret, namespace, group string, wanted *bind9.TSIGKey,
	members []*bind9.Bind9Instance) (chosen chosenKeys, err error) {
	w := &keyFacts{namespace: namespace, now: f.Clock.Now()}
	switch have, err := parseTransferKeys(secret); {
	case err == nil:
		w.current, w.accepted = &have, f.acceptedKeys.acceptedByAll(group, members, have.Names())
	// Only a missing or broken key is replaced. If the Secret cannot be read, the servers' key may still be there (F3).
	case !errors.Is(err, errNoTransferKey) && !errors.Is(err, render.ErrKey):
		return chosen, err
	}

	if wanted != nil {
		w.wanted, w.heldBy = *wanted, f.findKeyNaming(members)
	}

	step, requeueAfter := nextKeyStep(w)
	if chosen.requeueAfter = requeueAfter; step == holdKeys {
		chosen.heldBy = w.heldBy
	}
	chosen.TransferKeys, err = applyStep(w, step, f.Random)
	return chosen, err
}

func (f *Fleet) ensureControlKey(secret *corev1.Secret) (render.Key, error) {
	if secret != nil {
		if key, err := render.ReadControlKey(secret.Data); err == nil {
			return key, nil
		}
	}
	return render.NewKey("rndc-*", "", f.Random)
}

// ensureAccess returns the agent's token and certificate from the Secret, and makes or renews them as needed.
func (f *Fleet) ensureAccess(secret *corev1.Secret, server *render.Server) (access render.Access, err error) {
	if secret != nil {
		access, err = render.ReadAccess(secret.Data)
	}
	if secret == nil || err != nil {
		token := make([]byte, tokenOctets)
		if _, err := io.ReadFull(f.Random, token); err != nil {
			return access, err
		}
		access = render.Access{Token: base64.RawURLEncoding.EncodeToString(token)}
	}
	return renewAccess(access, server, f.Clock.Now())
}

// reserveReplacement asks for the turn to replace the server's pod. The result says why the server has to wait, or is
// "".
func (f *Fleet) reserveReplacement(w *facts) string {
	wanted := &reservation{server: w.server.Name, ready: w.ready, finished: w.finished, upToDate: w.hasSameTemplate()}
	for _, other := range f.instancesOf(w.server.Namespace, w.server.Cluster) {
		if other.Name == w.server.Name {
			continue
		}
		shouldRun := other.DeletionTimestamp == nil && ptr.Deref(other.Spec.Replicas, 1) > 0
		isReady := meta.IsStatusConditionTrue(other.Status.Conditions, bind9.ConditionReady)
		wanted.others = append(wanted.others, otherServer{name: other.Name, unready: shouldRun && !isReady})
	}
	slices.SortFunc(wanted.others, func(a, b otherServer) int { return strings.Compare(a.name, b.name) })
	return f.replacing.reserve(cache.ObjectName{Namespace: w.server.Namespace, Name: w.server.Cluster}, wanted)
}

// judgeWorkload returns the server's workload, nil if there is none. ready is true if all replicas answer, and finished
// if none of them is old.
func (f *Fleet) judgeWorkload(server *render.Server) (workload metav1.Object, ready, finished bool) {
	available := func(of metav1.Object, observed int64, updated, all, ready int32) (metav1.Object, bool, bool) {
		wanted := server.Replicas
		finished := observed >= of.GetGeneration() && [3]int32{updated, all, ready} == [3]int32{wanted, wanted, wanted}
		return of, ready >= wanted && wanted > 0, finished
	}
	switch object := f.children.cached(server.Workload(), server.Namespace, server.Name).(type) {
	case *appsv1.Deployment:
		return available(object, object.Status.ObservedGeneration, object.Status.UpdatedReplicas, object.Status.Replicas,
			object.Status.AvailableReplicas)
	case *appsv1.StatefulSet:
		return available(object, object.Status.ObservedGeneration, object.Status.UpdatedReplicas, object.Status.Replicas,
			object.Status.AvailableReplicas)
	}
	return nil, false, false
}

func (f *Fleet) listPods(server *render.Server) (all []*corev1.Pod) {
	for _, object := range f.children.listOwnedBy(pods, server.Namespace, render.KindInstance+"/"+server.Name) {
		if pod, ok := object.(*corev1.Pod); ok {
			all = append(all, pod)
		}
	}
	return all
}

func selectPods(pods []*corev1.Pod, holds func(*corev1.Pod) bool) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !holds(pod) })
}

func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func podRuns(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// haveKeys reports whether every pod runs with the current configuration, keys included. A bindcar, another project's
// agent, cannot report that, but a rollout with the new key replaces its pods.
func (f *Fleet) haveKeys(ctx context.Context, w *facts) bool {
	if w.server.Agent() == bind9.AgentBindcar {
		return w.finished && w.hasSameTemplate()
	}
	ask := func(ctx context.Context, pod *corev1.Pod) error {
		got, err := f.Ask(ctx, pod, w.server)
		if err == nil && got != w.hash {
			err = errOtherConfig
		}
		return err
	}
	return w.hash != "" && f.slow.askPods(ctx, w.server, "configuration "+w.hash, selectPods(w.pods, podRuns), ask) == nil
}

// checkServing returns nil if the server can answer in place of the pods of another manager: ready, with the current
// keys, and with all zones of its catalogs.
func (f *Fleet) checkServing(ctx context.Context, w *facts) error {
	switch {
	case !w.ready:
		return errors.New("the pod is not ready")
	// A server without zones would answer REFUSED at the address that clients know.
	case len(w.server.Catalogs) == 0:
		return errors.New("no DNSClass with a catalog has the server")
	case !f.haveKeys(ctx, w):
		return errOtherConfig
	}
	// A ready pod may still lack new zones.
	return f.slow.askPods(ctx, w.server, "members", selectPods(w.pods, podReady), func(ctx context.Context, pod *corev1.Pod) error {
		return f.Members(ctx, pod, w.server)
	})
}

// noteKeys records whether a server and its primaries accept both keys of a rotation. A signer records the cluster's
// keys, too, because servers that transfer from the signer must not sign with a key unknown there.
func (f *Fleet) noteKeys(ctx context.Context, w *facts) {
	instance := cache.MetaObjectToName(w.instance)
	changed := false
	record := func(group string, keys *render.TransferKeys) {
		accepted := ""
		// Outside a rotation, the entry is removed.
		if keys.SecondKey() != nil && f.haveKeys(ctx, w) && f.primariesAccept(ctx, w.server) {
			accepted = keys.Names()
		}
		changed = f.acceptedKeys.record(acceptor{instance, group}, accepted) || changed
	}
	record(w.server.Group(), &w.server.Transfer)
	isSigner := w.server.Peers != nil
	if isSigner {
		record(w.server.Cluster, w.server.Peers)
	}
	if changed && w.server.Cluster != "" {
		f.enqueue("cluster", w.server.Namespace, w.server.Cluster)
	}
}

// primariesAccept skips an unreachable primary, because it reads both keys at its start.
func (f *Fleet) primariesAccept(ctx context.Context, server *render.Server) bool {
	next := server.Transfer.Next
	if next == nil {
		return true
	}
	for _, catalog := range server.Catalogs {
		for _, at := range catalog.Primaries {
			// Only a primary that knows the present key and not the next holds up the rotation.
			if f.Answers(ctx, at, catalog.Zone, server.Transfer.Key) && !f.Answers(ctx, at, catalog.Zone, *next) {
				return false
			}
		}
	}
	return true
}
