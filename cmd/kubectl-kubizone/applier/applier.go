// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/client/load"
)

const FieldManager = "kubizone-apply"

type options struct {
	client         *kubeconfig.Options
	files, remove  []string
	forceConflicts bool
	consent        output.Consent
	format         *output.Format
}

func Results() map[string]any { return map[string]any{"AppliedChangeSet": applied{}} }

type applied struct {
	Records []appliedRecord `json:"records"`
	Zone    string          `json:"zone,omitempty"`
	// Serial is the first serial with the change, absent if all Records are unchanged.
	Serial int64 `json:"serial,omitempty"`
}

type appliedRecord struct {
	Name string `json:"name"`
	// Operation is as in a ChangeSet's status: Created, Updated, Unchanged or Deleted.
	Operation string `json:"operation"`
}

func (a *applied) printText(text *output.Text) {
	for _, r := range a.Records {
		text.Line("record.kubi.zone/%s %s", r.Name, strings.ToLower(r.Operation))
	}
	switch {
	// The Records are in no zone.
	case a.Zone == "":
	case a.Serial == 0:
		text.Line("zone %s: unchanged", a.Zone)
	default:
		text.Line("zone %s: serial %d", a.Zone, a.Serial)
	}
}

// run sends all changes as a ChangeSet, and prints the operation of each Record and the serial. An error with
// ErrRefused means that nothing was written.
func (o *options) run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	if len(o.files)+len(o.remove) == 0 {
		return errors.New("no changes given: write -f FILE, or --delete NAME")
	}
	config, namespace, err := o.client.Client()
	if err != nil {
		return err
	}
	set, from, err := o.changeSet(in)
	if err != nil {
		return err
	}
	if namespace, err = namespaceOf(set, from, namespace, o.client.Namespace() != ""); err != nil {
		return err
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	// Before the request: a deletion cannot be taken out of the transaction later.
	if err := o.consent.Ask(in, stderr, len(o.remove), "Records"); err != nil {
		return err
	}
	made, err := client.KubizoneV1alpha1().ChangeSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return locateError(err, from)
	}
	result := &applied{Records: []appliedRecord{}}
	for _, item := range made.Status.Items {
		result.Records = append(result.Records, appliedRecord{item.Name, item.Operation})
	}
	if zone := made.Status.ZoneRef; zone != nil {
		result.Zone, result.Serial = zone.Namespace+"/"+zone.Name, made.Status.Serial
	}
	return o.format.Print(out, "AppliedChangeSet", result, result.printText)
}

type place struct {
	where, namespace string
}

// changeSet returns the ChangeSet of the files and --delete. place i names the source of item i, for refusals. An
// unreadable file or an object that is no Record is an error.
func (o *options) changeSet(in io.Reader) (*v1alpha1.ChangeSet, []place, error) {
	set := &v1alpha1.ChangeSet{Spec: v1alpha1.ChangeSetSpec{FieldManager: FieldManager, Force: o.forceConflicts}}
	var from []place
	for _, name := range o.files {
		text, err := readFile(name, in)
		if err != nil {
			return nil, nil, err
		}
		objects, refused := load.ReadObjects(name, text)
		if len(refused) > 0 {
			return nil, nil, errors.New(refused[0].String())
		}
		for _, object := range objects {
			if reason, fix := load.UnknownKind(object); reason != "" {
				return nil, nil, errors.New(load.ObjectRefusal(name, object, reason, fix).String())
			}
			// A Zone could not take part in the transaction, and apart from the others the call would be all or nothing
			// no more.
			if object.GroupVersionKind() != v1alpha1.SchemeGroupVersion.WithKind("Record") {
				return nil, nil, fmt.Errorf("%s: %s %s %q is no Record of %s, and Records alone are changed together: "+
					"apply it by itself with kubectl", name, object.GetAPIVersion(), object.GetKind(), object.GetName(),
					v1alpha1.SchemeGroupVersion)
			}
			raw, err := object.MarshalJSON()
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Apply: &runtime.RawExtension{Raw: raw}})
			from = append(from, place{fmt.Sprintf("%s, record %s", name, object.GetName()), object.GetNamespace()})
		}
	}
	for _, name := range o.remove {
		set.Spec.Items = append(set.Spec.Items, v1alpha1.ChangeSetItem{Delete: &v1alpha1.ChangeSetDelete{Name: name}})
		from = append(from, place{where: "--delete " + name})
	}
	if len(set.Spec.Items) == 0 {
		return nil, nil, fmt.Errorf("%s: no Record found", strings.Join(o.files, ", "))
	}
	return set, from, nil
}

func readFile(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// namespaceOf returns the namespace of the change set: the given namespace of -n, otherwise that of the manifests,
// otherwise the context's. Manifests of two namespaces are an error.
func namespaceOf(set *v1alpha1.ChangeSet, from []place, namespace string, given bool) (string, error) {
	for i, item := range set.Spec.Items {
		switch own := from[i].namespace; {
		case item.Apply == nil || own == "" || own == namespace:
		case !given:
			namespace, given = own, true
		default:
			return "", fmt.Errorf("%s is of namespace %s, and others are of %s: a change set is of one namespace", from[i].where, own,
				namespace)
		}
	}
	return namespace, nil
}

const maxNamed = 10

const outcomeUnknown = "; whether the change set was written is not known: compare the Records with the files before you repeat it " +
	"(Records that are as in the files stay as they are, --delete of one that is gone is refused)"

// locateError returns the server's error with the file of each refused item. The text says if the outcome is unknown.
// Refusals wrap ErrRefused.
func locateError(err error, from []place) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		var sent *url.Error
		// The connection has ended between request and answer, so the server may have written all changes.
		if errors.As(err, &sent) && !utilnet.IsConnectionRefused(err) {
			return fmt.Errorf("%w%s", err, outcomeUnknown)
		}
		return err
	}
	text, code := status.Status().Message, status.Status().Code
	// A budget that is used up (429) passes, and is no refusal.
	refused := code >= 400 && code < 500 && code != http.StatusTooManyRequests
	if refused {
		text = describeRefusals(refusal.Of(err), text, from)
	}
	if refusal.Has(err, metav1.StatusReason(metav1.CauseTypeFieldManagerConflict)) {
		text += "; for the conflicts: remove the fields from the file, or take them over with --force-conflicts"
	}
	// The server has lost sight of the transaction, for example in an etcd without quorum.
	if apierrors.IsTimeout(err) {
		text += outcomeUnknown
	}
	if refused {
		return refusedError(text)
	}
	return errors.New(text)
}

// describeRefusals returns the refusals of items, each with its source, or the server's message if no refusal is of an
// item. Past maxNamed the text has a number.
func describeRefusals(all []refusal.Refusal, message string, from []place) string {
	var texts []string
	more := 0
	for _, one := range all {
		switch {
		case one.Item < 0 || one.Item >= len(from):
		case len(texts) == maxNamed:
			more++
		default:
			texts = append(texts, from[one.Item].where+": "+one.String())
		}
	}
	if len(texts) == 0 {
		return message
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "nothing was written: " + strings.Join(texts, "; ")
}

// ErrRefused is wrapped if the server refused the change set; nothing was written.
var ErrRefused = program.No("refused")

type refusedError string

func (e refusedError) Error() string { return string(e) }
func (refusedError) Unwrap() error   { return ErrRefused }

func NewCommand() *cobra.Command {
	o := &options{client: kubeconfig.NewOptions()}
	command := &cobra.Command{
		Use:   "apply",
		Short: "change Records of one zone in one transaction",
		Long: `Apply the Records of files, and delete others, in one transaction: all of them change with one new serial of their
zone, or none does and each refusal is reported. They are of one namespace and one zone, at most 100, and take at most
256 KiB of JSON; more are refused and never split. Records are applied like kubectl apply --server-side does, as the
user of the kubeconfig.`,
		Example: `  kubectl kubizone apply -n team-a -f records.yaml
  kubectl kubizone apply -n team-a -f new.yaml --delete old-www,old-mail`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return o.run(command.Context(), command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	o.format = output.AddFormat(command)
	flags := command.Flags()
	o.client.AddFlagsWithNamespace(flags)
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "files of manifests, YAML or JSON; - is standard input")
	flags.StringSliceVar(&o.remove, "delete", nil, "names of Records to delete in the same transaction")
	flags.BoolVar(&o.forceConflicts, "force-conflicts", false, "take over fields that other managers own")
	o.consent.AddFlag(flags)
	return command
}
