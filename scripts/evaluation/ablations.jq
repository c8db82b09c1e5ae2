# A Markdown table from the reports of scripts/ablations.sh (run with --slurp --raw-output).

def digits($n): pow(10; $n) as $unit | (. * $unit + 0.5 | floor) as $all | ($all / $unit | floor | tostring)
  + if $n == 0 then "" else "." + ($all % $unit | tostring | (("0" * ($n - length)) // "") + .) end;
def row: "| " + (map(tostring) | join(" | ")) + " |";
def right: if .pairwise_accuracy == null then "" else "\(.pairwise_accuracy * 100 | digits(1)) %" end;
def regrets: [.top1_regret, .top5_regret, .top10_regret] | map(digits(3)) | join(", ");
def shown: sub(":l2"; ", squared errors");

(["dataset", "network", "epochs", "seconds", "right pairs", "regret of the top 1, 5, 10", "retrieval alone: right pairs", "regret"]
  | row, "|" + ("---|" * length)),
(group_by(.name)[] |
  (.[] | [.name, (.network | shown), .epochs, .seconds, (.metrics.learned | right), (.metrics.learned | regrets),
    (.metrics.retrieval | right), (.metrics.retrieval | regrets)] | row),
  (.[0] as $any | ["closed_form", "random", "fixed_csr"][] as $model | $any.metrics[$model] // empty |
    [$any.name, ({closed_form: "closed-form model", random: "random choice", fixed_csr: "`fixed_csr`"}[$model]), "", "", right,
      regrets, "", ""] | row))
