// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	applyv1alpha1 "kubi.zone/kubizone/api/client/applyconfiguration/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "file with the cluster and the user; none in a pod")
	namespace := flag.String("namespace", "default", "namespace of the Record")
	flag.Parse()
	if flag.NArg() < 3 {
		fmt.Fprintln(os.Stderr, "usage: publish [-kubeconfig FILE] [-namespace NAMESPACE] RECORD FQDN ADDRESS...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := publish(ctx, *kubeconfig, *namespace, flag.Arg(0), flag.Arg(1), flag.Args()[2:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "publish: %v\n", err)
		os.Exit(1)
	}
}

func publish(ctx context.Context, kubeconfig, namespace, name, fqdn string, addresses []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}

	// If a rule refuses the Record, err names the rule. If no zone encloses the name, the Record is stored without a
	// zone, and its condition Adopted is False.
	spec := applyv1alpha1.RecordSpec().WithDomainName(fqdn).WithType("A").WithValues(addresses...)
	applied, err := client.KubizoneV1alpha1().Records(namespace).Apply(ctx,
		applyv1alpha1.Record(name, namespace).WithSpec(spec), metav1.ApplyOptions{FieldManager: "publish", Force: true})
	if err != nil {
		return err
	}
	if adopted := meta.FindStatusCondition(applied.Status.Conditions, v1alpha1.ConditionAdopted); adopted != nil &&
		adopted.Status != metav1.ConditionTrue {
		return fmt.Errorf("no zone has it: %s", adopted.Message)
	}

	// Ready is True when the name servers have confirmed.
	one := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(namespace),
		externalversions.WithTweakListOptions(func(options *metav1.ListOptions) { options.FieldSelector = one }))
	ready := make(chan *v1alpha1.Record, 1)
	offer := func(object any) {
		record := object.(*v1alpha1.Record)
		if record.Generation < applied.Generation || !meta.IsStatusConditionTrue(record.Status.Conditions, v1alpha1.ConditionReady) {
			return
		}
		select {
		case ready <- record:
		default: // ready has a Record already
		}
	}
	handlers := cache.ResourceEventHandlerFuncs{AddFunc: offer, UpdateFunc: func(_, now any) { offer(now) }}
	if _, err := factory.Kubizone().V1alpha1().Records().Informer().AddEventHandler(handlers); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	select {
	case record := <-ready:
		zone := record.Status.ZoneRef
		fmt.Printf("%s is in zone %s/%s since serial %d\n", record.Status.FQDN, zone.Namespace, zone.Name, record.Status.Serial)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
