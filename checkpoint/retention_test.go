package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// TestWhatRetentionIsTold: ForRetention must tell with which checkpoints a checkpoint is
// counted, and whether and why it can't be restored.
func TestWhatRetentionIsTold(t *testing.T) {
	t.Parallel()
	at := checkpointtest.NewTick().Now()
	pause := retention.Group{Trigger: "pause"}
	for _, tt := range []struct {
		name string
		ref  state.CheckpointRef
		want retention.Checkpoint
	}{
		{
			"counted per phase", state.CheckpointRef{ID: "a", Trigger: state.TriggerBatchComplete, Phase: "services", Valid: true, CreatedAt: at},
			retention.Checkpoint{ID: "a", Group: retention.Group{Trigger: "batch_complete", Phase: "services"}, At: at},
		},
		{
			"likewise", state.CheckpointRef{Trigger: state.TriggerWorkstreamComplete, Phase: "services", Valid: true},
			retention.Checkpoint{Group: retention.Group{Trigger: "workstream_complete", Phase: "services"}},
		},
		{"counted over all phases", state.CheckpointRef{Trigger: state.TriggerPause, Phase: "services", Valid: true}, retention.Checkpoint{Group: pause}},
		{"pinned", state.CheckpointRef{Trigger: state.TriggerPause, Pinned: true, Valid: true}, retention.Checkpoint{Group: pause, Pinned: true}},
		{"invalid", state.CheckpointRef{Trigger: state.TriggerPause}, retention.Checkpoint{Group: pause, Unusable: "invalid"}},
		{
			"went back before it", state.CheckpointRef{Trigger: state.TriggerPause, InvalidatedBy: "R-1"},
			retention.Checkpoint{Group: pause, Unusable: "invalid since rollback R-1"},
		},
		{
			"damaged too", state.CheckpointRef{Trigger: state.TriggerPause, InvalidatedBy: "R-1", Damage: &state.Damage{}},
			retention.Checkpoint{Group: pause, Unusable: "damaged"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, checkpoint.ForRetention(&tt.ref)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
