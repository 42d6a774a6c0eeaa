"""Decoding with and without speculation, alternately, on texts that repeat what was said and on texts that do not. The
answers have to be the same."""
import argparse
import statistics

import common

CODE = '''def total_price(items, tax_rate, discount):
    subtotal = 0
    for item in items:
        subtotal = subtotal + item["price"] * item["quantity"]
    discounted = subtotal - subtotal * discount
    total = discounted + discounted * tax_rate
    return total
'''
LETTER = ("Dear Ms. Hoffmann, thank you for your letter of the third of May. We have looked at the damage to your roof and "
          "will send two of our people on Monday at eight in the morning. The work will take three days and cost 2,400 "
          "euros. Please move your car out of the yard before they come. Yours sincerely, Peter Lang")
PROMPTS = {
    "code, once more": f"Repeat this function twice, without changes:\n\n{CODE}",
    "a letter, once more": f"Repeat this letter word by word:\n\n{LETTER}",
    "questions on a letter": f"{LETTER}\n\nWhat will be done, when, and what does it cost? Quote the sentences that say so.",
    "a list": "List the numbers from one to forty in words, one on each line.",
    "a story": "Tell a story about a lighthouse keeper who finds a letter.",
    "an explanation": "Explain how a vaccine works.",
}


def decode(arguments, prompt, *options):
    out = common.run_json([common.ADZE, "run", "-m", arguments.model, "-p", prompt, "-n", arguments.tokens, "--temp", "0",
                           "--threads", arguments.threads, "--json", *options])
    return out


def main():
    parser = argparse.ArgumentParser(prog="benchmarks/speculation", description=__doc__)
    parser.add_argument("-m", "--model", help="a model file (default: the one scripts/fetch_model fetches)")
    parser.add_argument("--draft", help="a draft model (default: tokens are looked up)")
    parser.add_argument("--most", type=int, default=8, help="tokens proposed in one step at most")
    parser.add_argument("--tokens", type=int, default=160, help="tokens of an answer at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    arguments.model = arguments.model or common.default_model()
    common.warn_when_busy()
    speculation = ["--draft-model", arguments.draft] if arguments.draft else ["--speculate", "lookup"]
    speculation += ["--draft-max", arguments.most]
    print(f"{common.machine()}; {arguments.threads} threads; greedy; median of {arguments.rounds} alternating rounds "
          f"(lowest–highest)\n")
    print("| text | tokens | accepted | tokens a step | plain, tokens/s | speculative, tokens/s | faster |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, prompt in PROMPTS.items():
        plain, fast = [], []
        for _ in range(arguments.rounds):
            plain.append(decode(arguments, prompt))
            fast.append(decode(arguments, prompt, *speculation))
        if any(out["tokens"] != plain[0]["tokens"] for out in plain + fast):
            common.fail(f"{name}: the answers differ")
        out = fast[0]
        steps = out["generated_tokens"] - out["accepted_tokens"]
        rates = [[one["decode_tokens_per_second"] for one in runs] for runs in (plain, fast)]
        ratios = [b / a for a, b in zip(*rates)]
        print(f"| {name} | {out['generated_tokens']} | {out['accepted_tokens']} of {out['proposed_tokens']} | "
              f"{out['generated_tokens'] / max(1, steps):.2f} | {common.spread(rates[0])} | {common.spread(rates[1])} | "
              f"{statistics.median(ratios):.2f}× ({min(ratios):.2f}–{max(ratios):.2f}) |", flush=True)


if __name__ == "__main__":
    main()
